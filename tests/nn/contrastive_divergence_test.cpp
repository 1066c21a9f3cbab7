// Contrastive divergence compared with NumPy with the same uniform numbers (tests/golden/rbm.py).
#include "nn/objectives/contrastive_divergence.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "nn/layers/dense.h"
#include "nn/model_pass.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_rbm.h"

namespace thtrain {
namespace {

using Visible = Rbm::Visible;

void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.as_double(i), expected.as_double(i), 1e-12) << what << i;
}

// Steps of learning rate 0.1 on x [5, 6].
Function learner(const Model& model, Objective& objective, const Expr& x, Mode mode) {
  ModelPass pass = model.pass({x}, Phase::kTraining);
  ObjectiveStep step = objective.step({x, pass.model_output(), {}, model.trained_params()});
  std::vector<Update> updates = step.updates;
  for (size_t i = 0; i < step.gradients->size(); ++i)
    updates.push_back({model.exprs()[i], model.exprs()[i] - 0.1 * step.gradients->at(i)});
  return function({x}, {step.cost}, updates, {.mode = mode});
}

void expect_rule(const std::string& rule, int64_t k, bool persistent, Visible visible) {
  const auto golden = golden_rbm();
  for (Mode mode : {Mode::kReference, Mode::kNative}) {
    SCOPED_TRACE(str(rule, mode == Mode::kNative ? " native" : " reference"));
    const Model model = golden_rbm_model(golden, visible);
    ContrastiveDivergence::Options options;
    options.k = k;
    options.persistent = persistent;
    ContrastiveDivergence objective(options);
    const Expr x = tensor("x", {5, 6}, DType::kFloat64);
    Function f = learner(model, objective, x, mode);
    const Tensor& examples = golden.at(visible == Visible::kBinary ? "x" : "x_gaussian");
    for (int64_t t = 0; t < 3; ++t)
      EXPECT_NEAR(f({examples})[0].as_double(), golden.at(rule + "/shown").as_double(t), 1e-12) << t;
    for (const Param& param : model.params())
      expect_near(param.variable.get_value(), golden.at(rule + "/" + param.name.substr(4)), param.name);
    for (const Param& state : model.state())
      expect_near(state.variable.get_value(), golden.at(rule + "/" + state.name.substr(4)), state.name);
    const auto kept = objective.state();
    const bool is_binary = visible == Visible::kBinary;
    ASSERT_EQ(join(kept, "", [](const auto& entry) { return entry.first; }),
              str(persistent ? "chains" : "", is_binary ? "bit" : ""));
    if (persistent) expect_near(kept.front().second.get_value(), golden.at(rule + "/chains"), "chains");
    if (is_binary) {
      EXPECT_EQ(kept.back().second.get_value().as_int(), 3);
    }
  }
}

TEST(ContrastiveDivergenceTest, OneStepIsNumPys) {
  expect_rule("cd1", 1, false, Visible::kBinary);
}
TEST(ContrastiveDivergenceTest, ThreeStepsAreNumPys) {
  expect_rule("cd3", 3, false, Visible::kBinary);
}
TEST(ContrastiveDivergenceTest, PersistentChainsAreNumPys) {
  expect_rule("pcd2", 2, true, Visible::kBinary);
}
TEST(ContrastiveDivergenceTest, GaussianUnitsAreNumPys) {
  expect_rule("gaussian", 1, false, Visible::kGaussian);
  expect_rule("gaussian_pcd2", 2, true, Visible::kGaussian);
}

// By all units, so that neither the number of examples nor their order counts.
TEST(ContrastiveDivergenceTest, ExamplesAreMeasuredByAllVisibleUnits) {
  const auto golden = golden_rbm();
  const Model model = golden_rbm_model(golden, Visible::kBinary);
  for (Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug})
    for (int64_t first : {0, 3}) {  // the last two alone
      const Expr x = tensor("x", {5 - first, 6}, DType::kFloat64);
      ModelPass pass = model.pass({x}, Phase::kEvaluation);
      const ExampleLosses losses = ContrastiveDivergence().losses(pass.model_output(), {});
      EXPECT_FALSE(losses.weights.has_value());
      const Tensor got = function({x}, {losses.values}, {}, {.mode = mode})({golden.at("x").rows(first, 5 - first)})[0];
      for (int64_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got.as_double(i), -golden.at("pseudo").as_double(first + i), 1e-12) << i;
    }
}

// 400 * 251 products are more than 20,000: 100 units of each of 1,000 examples, each unit 250 times.
TEST(ContrastiveDivergenceTest, ExamplesOfLargeMachinesAreMeasuredByAllUnitsAlike) {
  Model model({400}, DType::kFloat64, 1);
  model.add(Rbm::Options{{.name = "rbm"}, 251});
  const Expr x = tensor("x", {1000, 400}, DType::kFloat64);
  ModelPass pass = model.pass({x}, Phase::kEvaluation);
  const std::vector<int64_t> order = RandomState(1).permutation(400);
  Tensor units = Tensor::empty(DType::kInt64, {100, 1000});
  std::vector<int> times(400);
  for (int64_t i = 0; i < units.size(); ++i) {
    const int64_t unit = order[static_cast<size_t>((i % 1000 * 100 + i / 1000) % 400)];
    units.data<int64_t>()[i] = unit;
    ++times[static_cast<size_t>(unit)];
  }
  EXPECT_EQ(times, std::vector<int>(400, 250));
  const Expr expected = -rbm_of(model).machine().pseudo_log_likelihood(x, make_constant(units)),
             exact = -rbm_of(model).machine().pseudo_log_likelihood(x, expand_dims(arange(400), {1}));
  RandomState random(2);
  const Tensor examples = Tensor::of(random.uniform(0, 1, 1000 * 400), {1000, 400});
  const std::vector<Tensor> got = function(
      {x}, {ContrastiveDivergence().losses(pass.model_output(), {}).values, expected, mean(exact)})({examples});
  expect_near(got[0], got[1], "example ");
  double total = 0;
  for (int64_t i = 0; i < 1000; ++i) total += got[0].as_double(i);
  EXPECT_NEAR(total / 1000, got[2].as_double(), 0.01 * got[2].as_double());
  // Of 250 of them, 400 units each: all.
  const Expr part = tensor("part", {250, 400}, DType::kFloat64);
  ModelPass small = model.pass({part}, Phase::kEvaluation);
  const std::vector<Tensor> whole =
      function({part}, {ContrastiveDivergence().losses(small.model_output(), {}).values,
                        -rbm_of(model).machine().pseudo_log_likelihood(part, expand_dims(arange(400), {1}))})(
          {examples.rows(0, 250)});
  expect_near(whole[0], whole[1], "example ");
}

// A layer before the machine is not its business.
TEST(ContrastiveDivergenceTest, TrainsTheMachineAlone) {
  Model model({6}, DType::kFloat64, 1);
  model.add(Dense::Options{{.name = "hidden"}, 5, "sigmoid"});
  model.add(Rbm::Options{{.name = "rbm"}, 4});
  const Expr x = tensor("x", {5, 6}, DType::kFloat64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  ContrastiveDivergence objective;
  ObjectiveStep step = objective.step({x, pass.model_output(), {}, model.trained_params()});
  ASSERT_EQ(step.gradients->size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(step.gradients->at(i).has_value(), i >= 2) << i;
}

std::string error_of(const Model& model) {
  const Expr x = tensor("x", {5, 6}, DType::kFloat64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  return text_without_node([&] { ContrastiveDivergence().step({x, pass.model_output(), {}, model.trained_params()}); });
}

TEST(ContrastiveDivergenceTest, JudgesAnRbm) {
  Model model({6}, DType::kFloat64, 1);
  model.add(Rbm::Options{{.name = "rbm"}, 4});
  model.add(Dense::Options{{.name = "out"}, 3});
  EXPECT_EQ(error_of(model),
            "error: objective \"contrastive_divergence\" cannot read the output of the model\n"
            "  expected: that of an rbm or an rnn_rbm layer\n"
            "  got:      that of out, of type dense\n"
            "  hint:     type = \"rbm\" for the layer that is judged, the last one");
  const Expr x = tensor("x", {5, 6}, DType::kFloat64);
  EXPECT_EQ(text_without_node([&] { ContrastiveDivergence().losses({.value = x}, {}); }),
            "error: objective \"contrastive_divergence\" cannot read the output of the model\n"
            "  expected: that of an rbm or an rnn_rbm layer\n"
            "  got:      a value of no layer\n"
            "  hint:     type = \"rbm\" for the layer that is judged, the last one");
}

TEST(ContrastiveDivergenceTest, TrainsWhatMayBeTrained) {
  Model model({6}, DType::kFloat64, 1);
  model.add(Dense::Options{{.name = "hidden"}, 5, "sigmoid"});
  model.add(Rbm::Options{{.name = "rbm", .trained = false}, 4});
  EXPECT_EQ(error_of(model),
            "error: objective \"contrastive_divergence\" trains the layer rbm alone, which is not trained\n"
            "  expected: rbm with trained = true, or among the layers of a phase's trained");
}

}  // namespace
}  // namespace thtrain
