// Scans against plain loops: taps, directions, numbers of steps, conditions, updates, gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain::scan_test {
namespace {

std::vector<double> doubles(const Tensor& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.size(); ++i) out.push_back(x.as_double(i));
  return out;
}

// A scan of scalars: y[t] = tanh(sum of w * taps of sequences and of y), and what a plain loop makes of it.
struct Layout {
  std::vector<std::vector<int64_t>> sequences;  // taps
  std::vector<int64_t> state;                   // taps of y
  std::optional<int64_t> n_steps = {};
  bool backwards = false;
  std::string text() const {
    std::string out;
    for (const auto& taps : sequences) {
      for (int64_t tap : taps) out += str(tap, " ");
      out += "| ";
    }
    for (int64_t tap : state) out += str(tap, " ");
    return out + (n_steps ? str("steps ", *n_steps) : "") + (backwards ? " backwards" : "");
  }
};

int64_t depth_of(const Layout& layout) {
  return layout.state.empty() ? 0 : -*std::min_element(layout.state.begin(), layout.state.end());
}

Expr built(const Layout& layout, const std::vector<Expr>& sequences, const Expr& first, const Expr& w) {
  ScanOptions options{.non_sequences = {w}, .go_backwards = layout.backwards};
  for (size_t k = 0; k < sequences.size(); ++k) options.sequences.push_back({sequences[k], layout.sequences[k]});
  if (layout.n_steps) options.n_steps = *layout.n_steps;
  if (layout.state.empty())
    options.outputs_info = {std::nullopt};
  else
    options.outputs_info = {{layout.state == std::vector<int64_t>{-1} ? first[0] : first, layout.state}};
  return scan(
             [](const std::vector<Expr>& arguments) {
               Expr sum = 0.1 * arguments[0];
               for (size_t i = 1; i + 1 < arguments.size(); ++i)
                 sum = sum + (0.3 + 0.1 * static_cast<double>(i)) * arguments[i];
               return tanh(sum * arguments.back());
             },
             options)
      .outputs;
}

std::vector<double> by_loop(const Layout& layout, const std::vector<std::vector<double>>& sequences,
                            const std::vector<double>& first, double w) {
  int64_t steps = -1;
  bool backwards = layout.backwards;
  std::vector<int64_t> low, high;
  for (size_t k = 0; k < sequences.size(); ++k) {
    low.push_back(std::min<int64_t>(0, *std::min_element(layout.sequences[k].begin(), layout.sequences[k].end())));
    high.push_back(std::max<int64_t>(0, *std::max_element(layout.sequences[k].begin(), layout.sequences[k].end())));
    const int64_t own = static_cast<int64_t>(sequences[k].size()) - high[k] + low[k];
    steps = steps < 0 ? own : std::min(steps, own);
  }
  if (layout.n_steps) {
    steps = std::abs(*layout.n_steps);
    if (*layout.n_steps < 0) backwards = !backwards;
  }
  std::vector<double> y = first;
  for (int64_t t = 0; t < steps; ++t) {
    std::vector<double> arguments;
    for (size_t k = 0; k < sequences.size(); ++k)
      for (int64_t tap : layout.sequences[k]) {
        const int64_t last = static_cast<int64_t>(sequences[k].size()) - 1 - high[k];
        arguments.push_back(sequences[k][static_cast<size_t>((backwards ? last - t : t - low[k]) + tap)]);
      }
    for (int64_t tap : layout.state) arguments.push_back(y[static_cast<size_t>(static_cast<int64_t>(y.size()) + tap)]);
    double sum = 0.1 * arguments[0];
    for (size_t i = 1; i < arguments.size(); ++i) sum += (0.3 + 0.1 * static_cast<double>(i)) * arguments[i];
    y.push_back(std::tanh(sum * w));
  }
  y.erase(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(first.size()));
  return y;
}

void expect_plain_loop(const Layout& layout, const std::vector<int64_t>& lengths, bool with_gradient) {
  SCOPED_TRACE(layout.text());
  std::vector<Expr> inputs, sequences;
  std::vector<Tensor> values;
  std::vector<std::vector<double>> numbers;
  for (size_t k = 0; k < layout.sequences.size(); ++k) {
    sequences.push_back(tensor_of_rank(str("u", k), 1, DType::kFloat64));
    values.push_back(drawn({lengths[k]}, k + 1));
    numbers.push_back(doubles(values.back()));
  }
  inputs = sequences;
  const int64_t depth = std::max<int64_t>(depth_of(layout), 1);
  const Expr first = tensor("first", {depth}, DType::kFloat64), w = tensor("w", {}, DType::kFloat64);
  inputs.push_back(first);
  inputs.push_back(w);
  values.push_back(drawn({depth}, 9));
  values.push_back(Tensor(0.8));
  const Expr y = built(layout, sequences, first, w);
  if (layout.state.empty()) {
    inputs.erase(inputs.end() - 2);
    values.erase(values.end() - 2);
  }
  const std::vector<double> wanted =
      by_loop(layout, numbers, layout.state.empty() ? std::vector<double>() : doubles(values[values.size() - 2]), 0.8);
  const Tensor got = in_all_modes(inputs, {y}, values)[0];
  ASSERT_EQ(got.shape(), (Shape{static_cast<int64_t>(wanted.size())}));
  for (size_t t = 0; t < wanted.size(); ++t) EXPECT_NEAR(got.as_double(static_cast<int64_t>(t)), wanted[t], 1e-12);
  if (!wanted.empty()) {
    const Tensor last = in_all_modes(inputs, {y[-1]}, values)[0];
    EXPECT_NEAR(last.as_double(), wanted.back(), 1e-12);
  }
  if (with_gradient) expect_gradient(sum(sqr(y)), inputs, values, 1e-5);
  if (with_gradient && !wanted.empty()) expect_gradient(y[-1], inputs, values, 1e-5);
}

TEST(Scan, TapsOfEveryLayoutAreThoseOfAPlainLoop) {
  for (const Layout& layout : {Layout{{{0}}, {-1}}, Layout{{{0}}, {}}, Layout{{{-2, 0}}, {-1}}, Layout{{{0, 3}}, {-2}},
                               Layout{{{-3, 2, -1}, {0}, {3}}, {-3, -5}}, Layout{{{2}}, {-1, -2}},
                               Layout{{{-2}}, {-4, -1}}, Layout{{{0, 0}}, {-2, -1}}})
    expect_plain_loop(layout, {9, 7, 12}, true);
}

TEST(Scan, RunsBackwardsAndForSoManySteps) {
  for (bool backwards : {false, true})
    for (std::optional<int64_t> n_steps :
         {std::optional<int64_t>(), std::optional<int64_t>(4), std::optional<int64_t>(-4)})
      for (const Layout& layout : {Layout{{{0}}, {-1}}, Layout{{{-1, 2}, {0}}, {-3, -1}}})
        expect_plain_loop({layout.sequences, layout.state, n_steps, backwards}, {8, 5}, n_steps.has_value());
}

TEST(Scan, NoStepsGiveNoRows) {
  expect_plain_loop({{{0}}, {-1}, 0}, {8}, true);
  expect_plain_loop({{{0}, {-1, 1}}, {-2, -1}, 0}, {8, 5}, true);
  expect_plain_loop({{{0}, {-1, 1}}, {-2, -1}}, {8, 2}, true);
}

TEST(Scan, TheShortestSequenceDecides) {
  expect_plain_loop({{{0}, {0}}, {-1}}, {8, 5}, true);
  expect_plain_loop({{{0}, {-4, 0}}, {-1}}, {3, 8}, true);
  expect_plain_loop({{{0}, {-4, 0}}, {-1}}, {6, 8}, false);
}

TEST(Scan, EndsAfterTwentyFourOfFiftySteps) {
  const Expr x = vector("x"), w = scalar("w");
  const auto [o, updates] = scan([](Expr x_t) { return std::pair(x_t, until(gt(x_t, 3))); }, {.sequences = {x}});
  std::vector<double> values(50, 0.0);
  values[23] = 4;
  const std::vector<Tensor> out = in_all_modes({x}, {o}, {Tensor::of(values, {50})});
  ASSERT_EQ(out[0].shape(), (Shape{24}));
  EXPECT_EQ(out[0].as_double(23), 4);
}

TEST(Scan, HasTheGradientOfTheStepsBeforeTheCondition) {
  const Expr x = vector("x"), threshold = scalar("threshold");
  const auto [r, updates] = scan([](Expr x, Expr u) { return std::pair(x * x, until(gt(x, u))); },
                                 {.sequences = {x}, .non_sequences = {threshold}});
  const Expr g = grad(sum(r), x);
  std::vector<double> seq;
  for (int i = 0; i < 15; ++i) seq.push_back(i);
  const std::vector<Tensor> out = in_all_modes({x, threshold}, {r, g}, {Tensor::of(seq, {15}), Tensor(5.0)});
  EXPECT_EQ(out[0].text(), "[0, 1, 4, 9, 16, 25, 36]");
  EXPECT_EQ(out[1].text(), "[0, 2, 4, 6, 8, 10, 12, 0, 0, 0, 0, 0, 0, 0, 0]");
}

TEST(Scan, TheGradientOfACarriedStateEndsWithTheCondition) {
  const Expr x = vector("x"), w = scalar("w");
  const auto [y, updates] = scan(
      [](Expr x, Expr y1, Expr y2, Expr w) {
        Expr next = y1 * w + x - 0.3 * y2;
        return std::pair(next, until(gt(next, 2)));
      },
      {.sequences = {x}, .outputs_info = {{x[Slice{.stop = 2}], {-1, -2}}}, .non_sequences = {w}});
  expect_gradient(sum(y * y), {x, w}, {Tensor::vector({0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0, 3.0}), Tensor(1.1)}, 1e-5);
  expect_gradient(y[-1], {x, w}, {Tensor::vector({0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0, 3.0}), Tensor(1.1)}, 1e-5);
}

// The steps before the last `truncate` ones count as constants.
TEST(Scan, ATruncatedGradientGoesBackThroughTheLastSteps) {
  const Expr x = vector("x"), h0 = scalar("h0"), w = scalar("w");
  for (int64_t truncate : {1, 3, 5, 9}) {
    SCOPED_TRACE(truncate);
    const auto [h, updates] =
        scan([](Expr x, Expr h, Expr w) { return tanh(w * h + x); },
             {.sequences = {x}, .outputs_info = {h0}, .non_sequences = {w}, .truncate_gradient = truncate});
    const std::vector<Tensor> values = {Tensor::vector({0.1, -0.2, 0.3, 0.4, -0.5}), Tensor(0.2), Tensor(0.7)};
    const std::vector<Tensor> got = in_all_modes({x, h0, w}, grad(sum(h), {x, h0, w}), values);
    // By hand: dh_t / dh_(t-1) = (1 - h_t^2) w.
    std::vector<double> state = {0.2};
    for (int64_t t = 0; t < 5; ++t) state.push_back(std::tanh(0.7 * state.back() + values[0].as_double(t)));
    std::vector<double> dx(5, 0.0);
    double carried = 0, dw = 0;
    for (int64_t t = 4; t >= std::max<int64_t>(0, 5 - truncate); --t) {
      const size_t s = static_cast<size_t>(t);
      const double inner = (1 + carried) * (1 - state[s + 1] * state[s + 1]);
      dx[s] = inner;
      dw += inner * state[s];
      carried = inner * 0.7;
    }
    for (int64_t t = 0; t < 5; ++t) EXPECT_NEAR(got[0].as_double(t), dx[static_cast<size_t>(t)], 1e-12) << t;
    EXPECT_NEAR(got[1].as_double(), truncate >= 5 ? carried : 0, 1e-12);
    EXPECT_NEAR(got[2].as_double(), dw, 1e-12);
  }
}

TEST(Scan, ATruncatedGradientOfAConditionReachesTheLastStepsThatRan) {
  const Expr h0 = scalar("h0");
  for (int64_t truncate : {1, 2, 3, 5}) {
    SCOPED_TRACE(truncate);
    const Expr v = scan([](Expr h) { return std::pair(h * 2, until(gt(h * 2, 7))); },
                        {.outputs_info = {h0}, .n_steps = 8, .truncate_gradient = truncate})
                       .outputs;
    const std::vector<Tensor> out = in_all_modes({h0}, {v, grad(v[-1], h0), grad(sum(v), h0)}, {Tensor(1.0)});
    EXPECT_EQ(out[0].text(), "[2, 4, 8]");
    EXPECT_EQ(out[1].as_double(), truncate >= 3 ? 8 : 0);
    EXPECT_EQ(out[2].as_double(), truncate >= 3 ? 14 : 0);
  }
}

TEST(Scan, AValueThatWasBuiltOutsideIsTheSameInAllSteps) {
  RandomStreams streams(3), again(3);
  const Expr mask = streams.uniform({2}), x = vector("x", {2});
  const auto [v, updates] = scan([&](Expr h) { return h + mask; }, {.outputs_info = {x}, .n_steps = 3});
  EXPECT_TRUE(updates.empty()) << "it is drawn once in a call, and not by the loop";
  Function f = function({x}, {v}, updates), drawn_alone = function({}, {again.uniform({2})});
  for (int call = 0; call < 2; ++call) {
    const Tensor one = drawn_alone({})[0], all = f({Tensor::vector({0.0, 0.0})})[0];
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t j = 0; j < 2; ++j)
        EXPECT_NEAR(all.as_double(2 * t + j), static_cast<double>(t + 1) * one.as_double(j), 1e-12);
  }
  Shared s(2.0, "s");
  const Expr tripled = s * 3;
  const auto [w, moved] = scan(
      [&](Expr h) {
        return std::pair(h + tripled + s, std::vector<Update>{{s, s + 1}});
      },
      {.outputs_info = {0.0}, .n_steps = 3});
  Function g = function({}, {w}, moved);
  EXPECT_EQ(g({})[0].text(), "[8, 17, 27]");
  EXPECT_EQ(g({})[0].text(), "[20, 41, 63]");
}

TEST(Scan, InAScan) {
  const Expr x = matrix("x"), c = scalar("c");
  const Expr y = scan(
                     [](Expr row, Expr c) {
                       return scan([](Expr v, Expr s, Expr c) { return sin(s * c) + v; },
                                   {.sequences = {row}, .outputs_info = {row[0]}, .non_sequences = {c}})
                           .outputs;
                     },
                     {.sequences = {x}, .non_sequences = {c}})
                     .outputs;
  expect_gradient(sum(sqr(y)), {x, c}, {drawn({3, 4}, 1), Tensor(0.7)}, 1e-5);
}

TEST(Scan, HasSecondDerivatives) {
  const Expr x = vector("x", {5}), w = scalar("w");
  const Expr y = scan([](Expr x, Expr y2, Expr y1, Expr w) { return sin(y1 * w + x) * y2; },
                      {.sequences = {x}, .outputs_info = {{x[Slice{.stop = 2}], {-2, -1}}}, .non_sequences = {w}})
                     .outputs;
  const std::vector<Tensor> values = {drawn({5}, 3), Tensor(0.7)};
  const std::vector<Expr> first = grad(sum(sqr(y)), {x, w});
  expect_gradient(sum(first[0] * sqr(first[1])), {x, w}, values, 1e-4);
}

TEST(Scan, ForwardModeIsTheChangeAlongADirection) {
  for (const std::vector<int64_t>& taps : {std::vector<int64_t>{-1}, {-2}, {-2, -1}, {-3, -1}}) {
    const Expr x = vector("x", {6}), w = scalar("w"), direction = vector("direction", {6});
    const int64_t depth = -*std::min_element(taps.begin(), taps.end());
    const Expr first = depth == 1 ? x[0] : x[Slice{.stop = depth}];
    const Expr y = scan(
                       [](const std::vector<Expr>& given) {
                         Expr sum = sin(given[0]) * given[1];
                         for (size_t i = 2; i + 1 < given.size(); ++i) sum = sum + cos(given[i]);
                         return sum * given.back();
                       },
                       {.sequences = {x}, .outputs_info = {{first, taps}}, .non_sequences = {w}})
                       .outputs;
    const Tensor at = drawn({6}, 3), along = drawn({6}, 4);
    const Tensor forward = in_all_modes({x, w, direction}, {jvp(y, x, direction)}, {at, Tensor(0.7), along}, 1e-10)[0];
    Function f = function({x, w}, {y});
    Tensor up = at.copy(), down = at.copy();
    const double h = 1e-6;
    for (int64_t i = 0; i < 6; ++i) {
      up.data<double>()[i] += h * along.as_double(i);
      down.data<double>()[i] -= h * along.as_double(i);
    }
    const Tensor high = f({up, Tensor(0.7)})[0], low = f({down, Tensor(0.7)})[0];
    for (int64_t t = 0; t < 6; ++t)
      EXPECT_NEAR(forward.as_double(t), (high.as_double(t) - low.as_double(t)) / (2 * h), 1e-6) << t;
  }
}

TEST(Scan, MapReduceFoldlAndFoldr) {
  const Expr x = vector("x");
  const Tensor values = Tensor::vector({1.0, 2.0, 3.0, 4.0});
  auto digits = [](Expr v, Expr sum) { return sum * 10 + v; };
  const std::vector<Tensor> out = in_all_modes({x},
                                               {map([](Expr v) { return sqr(v); }, {.sequences = {x}}).outputs,
                                                reduce(digits, {.sequences = {x}, .outputs_info = {0.0}}).outputs,
                                                foldl(digits, {.sequences = {x}, .outputs_info = {0.0}}).outputs,
                                                foldr(digits, {.sequences = {x}, .outputs_info = {0.0}}).outputs},
                                               {values});
  EXPECT_EQ(out[0].text(), "[1, 4, 9, 16]");
  EXPECT_EQ(out[1].as_double(), 1234);
  EXPECT_EQ(out[2].as_double(), 1234);
  EXPECT_EQ(out[3].as_double(), 4321);
}

TEST(Scan, UpdatesOfAVariableAreReadByTheNextStep) {
  Shared a(2.0, "a");
  const Expr x = vector("x");
  const auto [y, updates] = scan(
      [&](Expr v) {
        return std::pair(a * v, std::vector<Update>{{a, a + v}});
      },
      {.sequences = {x}});
  Function f = function({x}, {y}, updates);
  EXPECT_EQ(f({Tensor::vector({1.0, 2.0, 3.0})})[0].text(), "[2, 6, 15]");
  EXPECT_EQ(a.get_value().as_double(), 8);
}

// ---- mistakes ------------------------------------------------------------------------------------------------------

TEST(ScanErrors, ASequenceThatIsTooShortForItsTaps) {
  const Expr u = vector("u", {3}), v = vector("v");
  auto step = [](Expr before, Expr now) { return before + now; };
  EXPECT_EQ(text_without_node([&] {
              scan(step, {.sequences = {{u, {-4, 0}}}});
            }),
            "error: scan: the sequence u is too short for its taps [-4, 0]\n"
            "  expected: at least 4 elements\n"
            "  got:      u float64[3]");
  Function f = function({v}, {scan(step, {.sequences = {{v, {-4, 0}}}, .name = "rnn"}).outputs});
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::vector({1.0, 2.0})});
            }),
            "error: scan rnn: the sequence v is too short for its taps [-4, 0]\n"
            "  expected: 4 <= v.0\n"
            "  got:      4 and 2");
}

TEST(ScanErrors, MoreStepsThanTheSequenceHas) {
  const Expr v = vector("v"), n = iscalar("n");
  auto step = [](Expr x) { return x * 2; };
  EXPECT_EQ(text_without_node([&] { scan(step, {.sequences = {vector("u", {3})}, .n_steps = 5}); }),
            "error: scan: the sequence u has not enough elements for n_steps\n"
            "  expected: at least 5 elements\n"
            "  got:      u float64[3]");
  Function f = function({v, n}, {scan(step, {.sequences = {v}, .n_steps = n}).outputs});
  EXPECT_EQ(f({Tensor::vector({1.0, 2.0}), Tensor(int64_t{1})})[0].text(), "[2]");
  EXPECT_EQ(f({Tensor::vector({1.0, 2.0}), Tensor(int64_t{-1})})[0].text(), "[4]");
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::vector({1.0, 2.0}), Tensor(int64_t{-3})});
            }),
            "error: scan: the sequence v has not enough elements for |n_steps|\n"
            "  expected: max(-n, n) <= v.0\n"
            "  got:      3 and 2");
}

TEST(ScanErrors, WhatTheStepFunctionTakesAndGives) {
  const Expr u = vector("u"), h = scalar("h");
  EXPECT_EQ(text_without_node([&] { scan([](Expr x) { return x; }, {.sequences = {u}, .outputs_info = {h}}); }),
            "error: scan: the step function takes 1 value, and gets 2\n"
            "  expected: u[t], output 0 (h)[t-1]\n"
            "  hint:     sequences come first, then the outputs that have taps, then the non-sequences");
  EXPECT_EQ(text_without_node([&] {
              scan([](Expr, Expr s) { return s; }, {.sequences = {u}, .outputs_info = {h, std::nullopt}});
            }),
            "error: scan: the step function gives 1 output, and outputs_info has 2\n"
            "  expected: one output for each entry of outputs_info, in their order\n"
            "  hint:     std::nullopt stands for an output that no later step reads");
  EXPECT_EQ(text_without_node([&] { scan([](Expr s) { return s; }, {.outputs_info = {h}}); }),
            "error: scan: the number of steps is not known\n"
            "  expected: n_steps, or a sequence\n"
            "  got:      no sequences and no n_steps");
}

TEST(ScanErrors, InitialValues) {
  const Expr u = vector("u"), h = vector("h", {3}), deep = matrix("deep", {2, 3});
  ScanOutput no_value;
  no_value.taps = {-1};
  EXPECT_EQ(text_without_node(
                [&] { scan([](Expr x, Expr s) { return x + s; }, {.sequences = {u}, .outputs_info = {no_value}}); }),
            "error: scan: output 0 has taps and no initial value\n"
            "  expected: an initial value, or no taps\n"
            "  got:      [-1]");
  EXPECT_EQ(
      text_without_node([&] {
        scan([](Expr x, Expr a, Expr b) { return x + a + b; }, {.sequences = {u}, .outputs_info = {{deep, {-3, -1}}}});
      }),
      "error: scan: the initial values of output 0 (deep) do not fit the taps [-3, -1]\n"
      "  expected: 3 values along the first axis\n"
      "  got:      deep float64[2, 3]");
  EXPECT_EQ(text_without_node(
                [&] { scan([](Expr x, Expr s) { return x + sum(s); }, {.sequences = {u}, .outputs_info = {h}}); }),
            "error: scan: output 0 (h) has other axes than its initial value\n"
            "  expected: float64[3]\n"
            "  got:      float64[]");
  EXPECT_EQ(
      text_without_node([&] {
        scan([](Expr x, Expr a, Expr b) { return x + a + b; }, {.sequences = {u}, .outputs_info = {{h, {-1, -1}}}});
      }),
      "error: scan: output 0 (h) has the tap -1 twice\n"
      "  expected: each tap once\n"
      "  got:      [-1, -1]");
  EXPECT_EQ(text_without_node([&] {
              scan([](Expr x, Expr s) { return x + s; }, {.sequences = {u}, .outputs_info = {{h, {1}}}});
            }),
            "error: scan: output 0 (h) has the tap 1\n"
            "  expected: negative taps: values of earlier steps\n"
            "  got:      [1]");
}

}  // namespace
}  // namespace thtrain::scan_test
