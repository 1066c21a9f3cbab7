// The examples of the guide to scan, in its order, and the sentences around them.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

class ScanGuide : public testing::Test {
 protected:
  void SetUp() override { set_floatX(DType::kFloat64); }
};

TEST_F(ScanGuide, SimpleLoopWithAccumulation) {
  Expr k = iscalar("k"), A = vector("A");
  auto [result, updates] = scan([](Expr prior_result, Expr A) { return prior_result * A; },
                                {.outputs_info = {ones_like(A)}, .non_sequences = {A}, .n_steps = k});
  Expr final_result = result[-1];
  Function power = function({A, k}, {final_result}, updates);
  Tensor range = Tensor::of(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10});
  EXPECT_EQ(power({range, Tensor(int64_t{2})})[0].text(), "[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]");
  EXPECT_EQ(power({range, Tensor(int64_t{4})})[0].text(), "[0, 1, 16, 81, 256, 625, 1296, 2401, 4096, 6561]");
  EXPECT_TRUE(updates.empty());
}

TEST_F(ScanGuide, OnlyTheLastValueIsKeptWhereOnlyItIsRead) {
  Expr A = vector("A", {1000});
  auto [result, updates] = scan([](Expr prior_result, Expr A) { return prior_result * A; },
                                {.outputs_info = {ones_like(A)}, .non_sequences = {A}, .n_steps = 100'000});
  Function power = function({A}, {result[-1]}, updates);
  EXPECT_LT(power.info().arena_bytes, 100'000);
}

TEST_F(ScanGuide, CalculatingAPolynomial) {
  Expr coefficients = vector("coefficients"), x = scalar("x");
  const int64_t max_coefficients_supported = 10000;
  auto [components, updates] =
      scan([](Expr coefficient, Expr power, Expr free_variable) { return coefficient * pow(free_variable, power); },
           {.sequences = {coefficients, arange(max_coefficients_supported)}, .non_sequences = {x}});
  Expr polynomial = sum(components);
  Function calculate_polynomial = function({coefficients, x}, {polynomial});
  EXPECT_EQ(calculate_polynomial({Tensor::vector({1.0, 0.0, 2.0}), Tensor(3.0)})[0].as_double(), 19);
}

TEST_F(ScanGuide, SimpleAccumulationIntoAScalar) {
  Expr up_to = iscalar("up_to");
  auto accumulate_by_adding = [](Expr arange_val, Expr sum_to_date) { return sum_to_date + arange_val; };
  Expr seq = arange(up_to);
  Expr outputs_info = make_constant(Tensor(int64_t{0}));
  auto [scan_result, scan_updates] = scan(accumulate_by_adding, {.sequences = {seq}, .outputs_info = {outputs_info}});
  Function triangular_sequence = function({up_to}, {scan_result});
  EXPECT_EQ(triangular_sequence({Tensor(int64_t{15})})[0].text(),
            "[0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105]");
}

TEST_F(ScanGuide, AnImplicitDowncastOfTheOutputIsAnError) {
  Expr seq = arange(15);
  EXPECT_EQ(
      text_without_node([&] {
        scan([](Expr value, Expr sum_to_date) { return sum_to_date + value; },
             {.sequences = {seq}, .outputs_info = {make_constant(Tensor(int8_t{0}))}});
      }),
      "error: scan: output 0 is of a wider dtype than its initial value\n"
      "  expected: int8[], as the initial value\n"
      "  got:      int64[]\n"
      "  hint:     cast the initial value to the dtype of the step's result, or the result to that of the initial "
      "value");
}

TEST_F(ScanGuide, ValuesAtPositions) {
  Expr location = imatrix("location"), values = vector("values"), output_model = matrix("output_model");
  auto set_value_at_position = [](Expr a_location, Expr a_value, Expr output_model) {
    Expr zeros = zeros_like(output_model);
    Expr zeros_subtensor = zeros[{a_location[0], a_location[1]}];
    return set_subtensor(zeros_subtensor, a_value);
  };
  auto [result, updates] =
      scan(set_value_at_position, {.sequences = {location, values}, .non_sequences = {output_model}});
  Function assign_values_at_positions = function({location, values, output_model}, {result});
  Tensor out = assign_values_at_positions({Tensor::of(std::vector<int64_t>{1, 1, 2, 3}, {2, 2}),
                                           Tensor::vector({42.0, 50.0}), Tensor::zeros(DType::kFloat64, {5, 5})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 5, 5}));
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.as_double(i), i == 6 ? 42 : i == 25 + 13 ? 50 : 0) << i;
}

TEST_F(ScanGuide, RecurrentNeuralNetworkWithSeveralOutputsAndTaps) {
  const int64_t n = 9, in = 2, hidden = 3, out = 2;
  Expr u = matrix("u"), x0 = matrix("x0"), y0 = vector("y0");
  Expr W = matrix("W"), W_in_1 = matrix("W_in_1"), W_in_2 = matrix("W_in_2"), W_feedback = matrix("W_feedback"),
       W_out = matrix("W_out");
  auto one_step = [](Expr u_tm4, Expr u_t, Expr x_tm3, Expr x_tm1, Expr y_tm1, Expr W, Expr W_in_1, Expr W_in_2,
                     Expr W_feedback, Expr W_out) -> std::vector<Expr> {
    Expr x_t = tanh(dot(x_tm1, W) + dot(u_t, W_in_1) + dot(u_tm4, W_in_2) + dot(y_tm1, W_feedback));
    Expr y_t = dot(x_tm3, W_out);
    return {x_t, y_t};
  };
  auto [vals, updates] = scan(one_step, {.sequences = {{u, {-4, 0}}},
                                         .outputs_info = {{x0, {-3, -1}}, y0},
                                         .non_sequences = {W, W_in_1, W_in_2, W_feedback, W_out}});
  auto drawn = [](Shape shape, uint64_t seed) {
    return numbers({.dtype = DType::kFloat64, .dims = Dims(shape.begin(), shape.end())}, seed);
  };
  const std::vector<Tensor> v = {drawn({n, in}, 1),          drawn({3, hidden}, 2),  drawn({out}, 3),
                                 drawn({hidden, hidden}, 4), drawn({in, hidden}, 5), drawn({in, hidden}, 6),
                                 drawn({out, hidden}, 7),    drawn({hidden, out}, 8)};
  Function f = function({u, x0, y0, W, W_in_1, W_in_2, W_feedback, W_out}, {vals[0], vals[1]});
  const std::vector<Tensor> got = f(v);
  ASSERT_EQ(got[0].shape(), (Shape{5, hidden}));
  ASSERT_EQ(got[1].shape(), (Shape{5, out}));

  // The same by plain loops; x holds the three initial values first, and u[0] is that of time -4.
  auto at = [](const Tensor& t, int64_t i, int64_t j) { return t.as_double(i * t.dim(1) + j); };
  std::vector<std::vector<double>> x(3), y(1);
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t j = 0; j < hidden; ++j) x[static_cast<size_t>(t)].push_back(at(v[1], t, j));
  for (int64_t j = 0; j < out; ++j) y[0].push_back(v[2].as_double(j));
  for (int64_t t = 0; t < 5; ++t) {
    const size_t s = static_cast<size_t>(t);
    std::vector<double> next_x, next_y;
    for (int64_t j = 0; j < hidden; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < hidden; ++i) sum += x[s + 2][static_cast<size_t>(i)] * at(v[3], i, j);
      for (int64_t i = 0; i < in; ++i) sum += at(v[0], t + 4, i) * at(v[4], i, j) + at(v[0], t, i) * at(v[5], i, j);
      for (int64_t i = 0; i < out; ++i) sum += y[s][static_cast<size_t>(i)] * at(v[6], i, j);
      next_x.push_back(std::tanh(sum));
    }
    for (int64_t j = 0; j < out; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < hidden; ++i) sum += x[s][static_cast<size_t>(i)] * at(v[7], i, j);
      next_y.push_back(sum);
    }
    x.push_back(next_x);
    y.push_back(next_y);
    for (int64_t j = 0; j < hidden; ++j) EXPECT_NEAR(at(got[0], t, j), next_x[static_cast<size_t>(j)], 1e-12);
    for (int64_t j = 0; j < out; ++j) EXPECT_NEAR(at(got[1], t, j), next_y[static_cast<size_t>(j)], 1e-12);
  }
}

// A chain of the generators of `trng`, as the guide writes it.
Expr gibbs_step(const RandomStreams& trng, const Expr& vsample, const Shared& W, const Shared& bhid,
                const Shared& bvis) {
  Expr hmean = sigmoid(dot(vsample, W) + bhid);
  Expr hsample = trng.binomial(hmean.dims(), 1, hmean, DType::kFloat64);
  Expr vmean = sigmoid(dot(hsample, W.T()) + bvis);
  return trng.binomial(vsample.dims(), 1, vmean, DType::kFloat64);
}

TEST_F(ScanGuide, GibbsSampling) {
  RandomState rng(3);
  Shared W(Tensor::of(rng.normal(0, 1, 12), {4, 3}), "W"), bhid(Tensor::of(rng.normal(0, 1, 3), {3}), "bhid"),
      bvis(Tensor::of(rng.normal(0, 1, 4), {4}), "bvis");
  Expr sample = vector("sample", {4});
  RandomStreams trng(1234), again(1234), unmoved(1234);
  auto [values, updates] = scan([&](Expr vsample) { return gibbs_step(trng, vsample, W, bhid, bvis); },
                                {.outputs_info = {sample}, .n_steps = 10});
  EXPECT_EQ(updates.size(), 2u) << "the generators of both draws";
  Function gibbs10 = function({sample}, {values[-1]}, updates);
  // The same, a step in each call.
  Function step = function({sample}, {gibbs_step(again, sample, W, bhid, bvis)});
  const Tensor first = Tensor::vector({1.0, 0.0, 0.0, 1.0});
  for (int call = 0; call < 3; ++call) {
    Tensor v = first;
    for (int t = 0; t < 10; ++t) v = step({v})[0];
    EXPECT_EQ(gibbs10({first})[0].text(), v.text()) << call;
  }
  // Without the updates the ten sets of numbers are always the same.
  auto [same, not_given] = scan([&](Expr vsample) { return gibbs_step(unmoved, vsample, W, bhid, bvis); },
                                {.outputs_info = {sample}, .n_steps = 10});
  Function repeated = function({sample}, {same});
  const std::string once = repeated({first})[0].text();
  for (int call = 0; call < 3; ++call) EXPECT_EQ(repeated({first})[0].text(), once);
}

TEST_F(ScanGuide, UpdatesOfSharedVariables) {
  Shared a(int64_t{1}, "a");
  auto [values, updates] = scan([&] { return std::vector<Update>{{a, a + 1}}; }, {.n_steps = 10});
  EXPECT_TRUE(values.empty());
  Expr b = a + 1;
  Expr c = updated(updates, a) + 1;
  Function f = function({}, {b, c}, updates);
  std::vector<Tensor> out = f({});
  EXPECT_EQ(out[0].as_int(), 2);
  EXPECT_EQ(out[1].as_int(), 12);
  EXPECT_EQ(a.get_value().as_int(), 11);
  out = f({});
  EXPECT_EQ(out[0].as_int(), 12);
  EXPECT_EQ(out[1].as_int(), 22);
  EXPECT_EQ(a.get_value().as_int(), 21);
}

TEST_F(ScanGuide, WithoutItsUpdatesAFunctionChangesNoVariable) {
  Shared a(int64_t{1}, "a");
  auto [values, updates] = scan([&] { return std::vector<Update>{{a, a + 1}}; }, {.n_steps = 10});
  Function f = function({}, {a + 1, updated(updates, a) + 1});
  for (int call = 0; call < 2; ++call) {
    std::vector<Tensor> out = f({});
    EXPECT_EQ(out[0].as_int(), 2);
    EXPECT_EQ(out[1].as_int(), 12);
    EXPECT_EQ(a.get_value().as_int(), 1);
  }
}

TEST_F(ScanGuide, ConditionalEnding) {
  Expr max_value = scalar("max_value");
  auto power_of_2 = [](Expr previous_power, Expr max_value) {
    return std::pair(previous_power * 2, until(previous_power * 2 > max_value));
  };
  auto [values, _] = scan(power_of_2, {.outputs_info = {1.0}, .non_sequences = {max_value}, .n_steps = 1024});
  Function f = function({max_value}, {values});
  EXPECT_EQ(f({Tensor(45.0)})[0].text(), "[2, 4, 8, 16, 32, 64]");
  EXPECT_EQ(f({Tensor(1.0)})[0].text(), "[2]");
}

}  // namespace
}  // namespace thtrain
