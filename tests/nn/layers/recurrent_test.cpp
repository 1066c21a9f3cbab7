// Recurrent layers compared with PyTorch's numbers: outputs and gradients, with and without masks, in both directions.
#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "nn/layers/bidirectional.h"
#include "nn/layers/gru.h"
#include "nn/layers/lstm.h"
#include "nn/layers/rnn.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/sequences.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

const std::map<std::string, Tensor>& recurrent_golden() {
  static const std::map<std::string, Tensor> lines = [] {
    std::map<std::string, Tensor> out;
    for (const GoldenLine& line : golden_lines("recurrent.txt")) out[line.name] = line.result(k64);
    return out;
  }();
  return lines;
}

// The layer of a case's name, called "layer", of 2 units.
Model model_of(const std::string& name, DType dtype, RecurrentOutput output = RecurrentOutput::kAll) {
  Model model = Model::with_inputs({{"x", {2}, true}}, dtype, 1);
  auto add = [&](auto options) {
    options.name = "layer";
    options.units = 2;
    options.output = output;
    model.add(options);
  };
  const std::string kind = name.starts_with("packed_") ? name.substr(7) : name;
  if (kind == "lstm") {
    add(Lstm::Options());
  } else if (kind.starts_with("rnn")) {
    Rnn::Options options;
    if (kind == "rnn_relu") options.activation = "relu";
    add(options);
  } else if (kind.starts_with("gru")) {
    Gru::Options options;
    options.reset_after = kind == "gru";
    add(options);
  } else {
    Bidirectional::Options options;
    options.kind = kind == "bidirectional_rnn"    ? Bidirectional::OfKind::kRnn
                   : kind == "bidirectional_lstm" ? Bidirectional::OfKind::kLstm
                                                  : Bidirectional::OfKind::kGru;
    add(options);
  }
  return model;
}

// "layer/forward/W" -> "forward/W"
std::string own_name(const Param& param) {
  return param.name.substr(std::string("layer/").size());
}

void load(Model& model, const std::string& name) {
  std::map<std::string, Tensor> weights;
  for (const Param& param : model.params()) weights[param.name] = recurrent_golden().at(name + "/" + own_name(param));
  model.load(weights, "recurrent.txt");
}

void expect_near(const Tensor& got, const Tensor& expected, double bound, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got.as_double(i), expected.as_double(i), bound * std::max(1.0, std::abs(expected.as_double(i))))
        << what << ' ' << i;
}

struct Case {
  std::string name;
  DType dtype;
};

class EqualsPyTorch : public testing::TestWithParam<Case> {};

TEST_P(EqualsPyTorch, OutputsAndGradients) {
  const auto& [name, dtype] = GetParam();
  const double bound = dtype == k64 ? 1e-10 : 2e-5;
  const bool is_packed = name.starts_with("packed_") || name.starts_with("bidirectional_");
  Model model = model_of(name, dtype), last = model_of(name, dtype, RecurrentOutput::kLast);
  load(model, name);
  load(last, name);
  // x is time-major here, as PyTorch's.
  const Expr x = tensor("x", {4, 3, 2}, dtype), lengths = tensor("lengths", {3}, DType::kInt64);
  const Expr by_example = transpose(x, {1, 0, 2}), given = is_packed ? lengths : Expr();
  const ModelOutput output = model.pass({by_example}, Phase::kTraining, given).model_output();
  Expr out = steps_of_rows(output.value, 4, 3);
  if (is_packed) out = out * steps_of_rows(expand_dims(output.mask, {1}), 4, 3);
  const Expr c = make_constant(recurrent_golden().at("c").cast(dtype));
  const Expr cost = sum(out * slice_axis(c, 2, 0, model.layers()[0]->output_shape()[0]));
  std::vector<Expr> outputs = {out, last.pass({by_example}, Phase::kTraining, given).output()}, of = {x};
  for (const Expr& weight : model.exprs()) of.push_back(weight);
  for (const Expr& gradient : grad(cost, of)) outputs.push_back(gradient);
  std::vector<Expr> inputs = {x};
  std::vector<Tensor> values = {recurrent_golden().at("x").cast(dtype)};
  if (is_packed) {
    inputs.push_back(lengths);
    values.push_back(Tensor::vector<int64_t>({4, 2, 3}));
  }
  const std::vector<Tensor> got = in_all_modes(inputs, outputs, values, dtype == k64 ? 1e-12 : 1e-5);
  auto expect = [&](const Tensor& value, const std::string& key) {
    expect_near(value, recurrent_golden().at(name + "/" + key), bound, key);
  };
  expect(got[0], "out");
  expect(got[1], "last");
  expect(got[2], "grad/x");
  for (size_t i = 0; i < model.params().size(); ++i) expect(got[3 + i], "grad/" + own_name(model.params()[i]));
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& [name, value] : recurrent_golden())
    if (name.ends_with("/last"))
      for (DType dtype : {DType::kFloat32, k64}) out.push_back({name.substr(0, name.find('/')), dtype});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Recurrent, EqualsPyTorch, testing::ValuesIn(cases()),
                         [](const auto& test) { return str(test.param.name, '_', name_of(test.param.dtype)); });

// ---- what PyTorch's layers have not ---------------------------------------------------------------------------------

Tensor drawn(const Shape& shape) {
  return Tensor::of(RandomState(3).normal(0, 1, static_cast<size_t>(element_count(shape))), shape);
}

// A sequence in a minibatch with padding gives what it gives alone.
TEST(Recurrent, APaddedSequenceIsTheSequence) {
  for (const std::string name : {"lstm", "gru_before", "bidirectional_gru"}) {
    Model model = model_of(name, k64), last = model_of(name, k64, RecurrentOutput::kLast);
    load(model, name);
    load(last, name);
    const Expr x = tensor("x", {"batch", "steps", 2}, k64), lengths = tensor("lengths", {"batch"}, DType::kInt64);
    auto outputs = [&](const Expr& given) -> std::vector<Out> {
      return {model.pass({x}, Phase::kEvaluation, given).output(), last.pass({x}, Phase::kEvaluation, given).output()};
    };
    Function padded = function({x, lengths}, outputs(lengths)), alone = function({x}, outputs({}));
    const Tensor values = drawn({3, 4, 2});
    const std::vector<int64_t> own = {4, 2, 3};
    const std::vector<Tensor> all = padded({values, Tensor::vector<int64_t>({4, 2, 3})});
    const int64_t units = all[1].dim(1);
    for (int64_t i = 0; i < 3; ++i) {
      const std::vector<Tensor> one = alone({values.view({1, own[i], 2}, {8, 2, 1}, i * 8).copy()});
      expect_near(all[0].view({own[i], units}, {3 * units, 1}, i * units), one[0], 1e-14, name);
      expect_near(all[1].view({1, units}, {units, 1}, i * units), one[1], 1e-14, name);
    }
  }
}

Model lstm_model(const Lstm::Options& options, int64_t batch = 0) {
  Model model = Model::with_inputs({{"x", {2}, true}}, k64, 11);
  model.set_batch(batch);
  model.add(options);
  return model;
}

Lstm::Options lstm() {
  Lstm::Options options;
  options.name = "lstm";
  options.units = 3;
  return options;
}

TEST(Recurrent, BackwardsKeepsTheOrderOfTheSteps) {
  Lstm::Options backwards = lstm();
  backwards.go_backwards = true;
  Model model = lstm_model(backwards), forwards = lstm_model(lstm());
  const Expr x = tensor("x", {1, 5, 2}, k64), reversed = subtensor(x, {all(), Slice{.step = -1}});
  const std::vector<Tensor> got = in_all_modes(
      {x}, {model.output(x), subtensor(forwards.output(reversed), {Slice{.step = -1}})}, {drawn({1, 5, 2})});
  EXPECT_TRUE(same_bits(got[0], got[1]));
}

TEST(Recurrent, StateIsCarriedOverMinibatches) {
  Lstm::Options carry = lstm();
  carry.carry = true;
  Model model = lstm_model(carry, 2), whole = lstm_model(lstm());
  ASSERT_EQ(model.carried_state().size(), 2u);
  EXPECT_EQ(model.carried_state()[0].name, "lstm/h");
  EXPECT_EQ(model.carried_state()[1].name, "lstm/c");
  EXPECT_EQ(model.carried_state()[1].variable.type().text(), "float64[2, 3]");
  const Expr x = tensor("x", {2, "steps", 2}, k64);
  const Tensor values = drawn({2, 6, 2});
  const Tensor first = values.view({2, 4, 2}, {12, 2, 1}, 0).copy(),
               second = values.view({2, 2, 2}, {12, 2, 1}, 8).copy();
  const Tensor expected = function({x}, {Out(whole.output(x))})({values})[0];  // [6 * 2, 3]
  const Tensor of_first = expected.view({8, 3}, {3, 1}, 0), of_second = expected.view({4, 3}, {3, 1}, 24);
  Function evaluate = function({x}, {Out(model.output(x))});
  const Expr one = tensor("x", {1, 6, 2}, k64);  // of a minibatch of another size
  const Tensor alone = function({one}, {Out(model.output(one))})({values.rows(0, 1)})[0];
  expect_near(alone, expected.view({6, 3}, {6, 1}, 0), 1e-14, "the first sequence alone");
  for (Phase phase : {Phase::kTraining, Phase::kGeneration})
    for (Mode mode : {Mode::kNative, Mode::kReference}) {
      for (const Param& state : model.carried_state()) state.variable.set_value(Tensor::zeros(k64, {2, 3}));
      ModelPass pass = model.pass({x}, phase);
      const Expr out = pass.output();
      ASSERT_EQ(pass.updates().size(), 2u);
      Function run = function({x}, {Out(out)}, pass.updates(), {.mode = mode});
      expect_near(run({first})[0], of_first, 1e-14, "the first window");
      expect_near(evaluate({first})[0], of_first, 1e-14, "evaluation begins with zeros");
      expect_near(run({second})[0], of_second, 1e-14, "the second window");
    }
}

// Weights of a run are those of minibatches of any size, and of runs that carried nothing.
TEST(Recurrent, CarriedStateIsNotMissedInFiles) {
  Lstm::Options carry = lstm();
  carry.carry = true;
  Model model = lstm_model(carry, 2), other = lstm_model(carry, 5);
  std::map<std::string, Tensor> arrays;
  for (const Param& param : model.params()) arrays[param.name] = param.variable.get_value();
  auto states = [](const Model& of) {
    return str(of.state()[0].variable.get_value().text(), of.state()[1].variable.get_value().text());
  };
  const Tensor h = Tensor::matrix<double>({{1, 2, 3}, {4, 5, 6}}), zero = Tensor::zeros(k64, {2, 3});
  arrays["lstm/h"] = arrays["lstm/c"] = h;
  model.load(arrays, "w.npz");
  EXPECT_EQ(states(model), h.text() + h.text());
  other.load(arrays, "w.npz");
  EXPECT_EQ(states(other), str(Tensor::zeros(k64, {5, 3}).text(), Tensor::zeros(k64, {5, 3}).text()));
  arrays.erase("lstm/h");
  model.load(arrays, "w.npz");
  EXPECT_EQ(states(model), zero.text() + h.text());
  arrays["lstm/c"] = Tensor::zeros(k64, {2, 4});
  EXPECT_EQ(text_without_node([&] { model.load(arrays, "w.npz"); }),
            "error: w.npz: lstm/c does not fit the model\n"
            "  expected: float64[2, 3]\n"
            "  got:      float64[2, 4]");
}

// Gradients that go back through the last two of four steps are those of a window of two that begins with the state.
TEST(Recurrent, TruncatedGradients) {
  Lstm::Options carry = lstm(), truncated = lstm();
  carry.carry = true;
  truncated.truncate = 2;
  carry.output = truncated.output = RecurrentOutput::kLast;
  Model windows = lstm_model(carry, 2), model = lstm_model(truncated);
  const Expr x = tensor("x", {2, "steps", 2}, k64);
  const Tensor values = drawn({2, 4, 2});
  ModelPass pass = windows.pass({x}, Phase::kTraining);
  const Expr cost = sum(sqr(pass.output()));
  std::vector<Out> outputs;
  for (const Expr& gradient : grad(cost, windows.exprs())) outputs.emplace_back(gradient);
  Function run = function({x}, outputs, pass.updates());
  run({values.view({2, 2, 2}, {8, 2, 1}, 0).copy()});
  const std::vector<Tensor> expected = run({values.view({2, 2, 2}, {8, 2, 1}, 4).copy()});
  const std::vector<Tensor> got = in_all_modes({x}, grad(sum(sqr(model.output(x))), model.exprs()), {values});
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i], 1e-14, model.params()[i].name);
}

TEST(Recurrent, LayersAreStacked) {
  Model model = lstm_model(lstm());
  Gru::Options gru;
  gru.name = "gru";
  gru.units = 2;
  gru.output = RecurrentOutput::kLast;
  model.add(gru);
  Model second = Model::with_inputs({{"x", {3}, true}}, k64, 1);
  second.add(gru);
  std::map<std::string, Tensor> weights;
  for (const Param& param : model.params())
    if (param.name.starts_with("gru/")) weights[param.name] = param.variable.get_value();
  second.load(weights, "the first model");
  const Expr x = tensor("x", {2, 4, 2}, k64);
  const Expr between = steps_of_rows(model.pass({x}, Phase::kEvaluation).output("lstm"), 4, 2);
  const std::vector<Tensor> got =
      in_all_modes({x}, {model.output(x), second.output(transpose(between, {1, 0, 2}))}, {drawn({2, 4, 2})});
  expect_near(got[0], got[1], 1e-14, "the second layer");
}

// ---- the program and the weights ------------------------------------------------------------------------------------

// x W + b precedes the loop for all steps, and the gates are one product with U; a reset before it needs two.
TEST(Recurrent, TheLoopHasOneProduct) {
  for (const auto& [name, wanted] : {std::pair("rnn", 1), {"lstm", 1}, {"gru", 1}, {"gru_before", 2}}) {
    Model model = model_of(name, k64);
    const Expr x = tensor("x", {8, 16, 2}, k64);
    const std::string program = function({x}, {Out(model.output(x))}).explain().program;
    int products = 0;
    bool in_loop = false;
    std::istringstream lines(program);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("loop ")) in_loop = true;
      if (in_loop && line.find("reads  layer/U") != std::string::npos) ++products;
    }
    EXPECT_TRUE(in_loop) << program;
    EXPECT_EQ(products, wanted) << name << '\n' << program;
  }
}

Tensor weight(const Model& model, const std::string& name) {
  for (const Param& param : model.params())
    if (param.name == name) return param.variable.get_value();
  ADD_FAILURE() << "no weight " << name;
  return {};
}

TEST(Recurrent, FirstWeights) {
  Lstm::Options options = lstm();
  options.forget_bias = 0.5;
  Model model = lstm_model(options);
  std::string names;
  for (const Param& p : model.params())
    names += str(p.name, " ", p.variable.type().text(), p.penalized ? " W; " : "; ");
  EXPECT_EQ(names, "lstm/W float64[2, 12] W; lstm/U float64[3, 12] W; lstm/b float64[12]; ");
  EXPECT_EQ(weight(model, "lstm/b").text(), "[0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0, 0, 0, 0]");
  RandomState random(11);
  for (int64_t gate = 0; gate < 4; ++gate) {
    const Tensor block = draw_weights({}, 2, 3, random);
    expect_near(weight(model, "lstm/W").view({2, 3}, {12, 1}, 3 * gate), block, 0, "a gate's block of W");
  }
  const Tensor u = weight(model, "lstm/U");
  for (int64_t gate = 0; gate < 4; ++gate)
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        double product = 0;
        for (int64_t k = 0; k < 3; ++k)
          product += u.as_double(k * 12 + gate * 3 + i) * u.as_double(k * 12 + gate * 3 + j);
        EXPECT_NEAR(product, i == j ? 1 : 0, 1e-14) << gate;
      }
  options.recurrent_init = RecurrentInit::kIdentity;
  options.recurrent_scale = 2;
  EXPECT_EQ(weight(lstm_model(options), "lstm/U").text(),
            "[[2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0], [0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0], "
            "[0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2]]");
  options.recurrent_init = RecurrentInit::kUniform;
  const Tensor uniform = weight(lstm_model(options), "lstm/U");
  double largest = 0;
  for (int64_t i = 0; i < uniform.size(); ++i) largest = std::max(largest, std::abs(uniform.as_double(i)));
  EXPECT_LE(largest, 2 / std::sqrt(3.0));
  EXPECT_GT(largest, 1 / std::sqrt(3.0));
}

TEST(Recurrent, WithoutBias) {
  for (const std::string name : {"rnn", "lstm", "gru", "gru_before", "bidirectional_lstm"}) {
    Model model = Model::with_inputs({{"x", {2}, true}}, k64, 1);
    auto add = [&](auto options) {
      options.bias = false;
      model.add(options);
    };
    Gru::Options gru;
    gru.reset_after = name == "gru";
    if (name == "rnn") add(Rnn::Options());
    if (name == "lstm") add(Lstm::Options());
    if (name.starts_with("gru")) add(gru);
    if (name == "bidirectional_lstm") add(Bidirectional::Options());
    for (const Param& param : model.params()) EXPECT_TRUE(param.penalized) << param.name;
    const Expr x = tensor("x", {1, 2, 2}, k64);
    const Tensor zero = function({x}, {Out(model.output(x))})({Tensor::zeros(k64, {1, 2, 2})})[0];
    for (int64_t i = 0; i < zero.size(); ++i) EXPECT_EQ(zero.as_double(i), 0) << name;
  }
}

}  // namespace
}  // namespace thtrain
