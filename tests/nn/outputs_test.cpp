// Several objectives as one, from C++.
#include "nn/outputs.h"

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/runtime/function.h"
#include "nn/layers/dense.h"
#include "nn/layers/softmax.h"
#include "nn/model_pass.h"
#include "nn/objectives/negative_log_likelihood.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

Model two_heads() {
  Model model({4}, k64, 7);
  model.add(Dense::Options{{.name = "hidden"}, 3, "tanh"});
  Softmax::Options digit{{.name = "digit"}, 2};
  digit.init.law = Init::Law::kGlorotUniform;
  model.add(digit);
  model.add(Dense::Options{{.name = "picture", .inputs = {"hidden"}}, 4});
  return model;
}

std::vector<OutputObjective> both(double weight) {
  return {{"digit", std::make_shared<NegativeLogLikelihood>()}, {"picture", std::make_shared<SquaredError>(), weight}};
}

TEST(WeightedObjectives, AreTheWeightedSumAndItsGradients) {
  Model model = two_heads();
  Expr x = tensor("x", {"n", 4}, k64), y = tensor("y", {"n"}, DType::kInt64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  WeightedObjectives objectives(both(0.5));
  ObjectiveStep step = objectives.step(pass, x, {{.value = y}, {.value = x}}, model.trained_params());
  Expr by_hand = NegativeLogLikelihood().cost(pass.model_output("digit"), {.value = y}) +
                 0.5 * SquaredError().cost(pass.model_output("picture"), {.value = x});
  std::vector<Out> outputs = {step.cost, by_hand};
  for (const Expr& gradient : grad(step.cost, model.exprs())) outputs.emplace_back(gradient);
  for (const Expr& gradient : grad(by_hand, model.exprs())) outputs.emplace_back(gradient);
  Tensor examples = Tensor::empty(k64, {3, 4});
  for (int i = 0; i < 12; ++i) examples.data<double>()[i] = (i * 7 % 5 - 2) / 2.0;
  std::vector<Tensor> got = function(
      {x, y}, outputs, {}, {.mode = Mode::kReference})({examples, Tensor::of(std::vector<int64_t>{0, 1, 1}, {3})});
  EXPECT_NEAR(got[0].as_double(), got[1].as_double(), 1e-15);
  const size_t params = model.exprs().size();
  for (size_t k = 0; k < params; ++k)
    for (int64_t i = 0; i < got[2 + k].size(); ++i)
      EXPECT_NEAR(got[2 + k].as_double(i), got[2 + params + k].as_double(i), 1e-15) << k;
  EXPECT_DOUBLE_EQ(objectives.total({2, 3}), 3.5);
}

TEST(WeightedObjectives, OfOneIsThatOne) {
  Model model({4}, k64, 7);
  model.add(Softmax::Options{{.name = "digit"}, 2});
  Expr x = tensor("x", {"n", 4}, k64), y = tensor("y", {"n"}, DType::kInt64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  WeightedObjectives objectives({{"digit", std::make_shared<NegativeLogLikelihood>()}});
  EXPECT_TRUE(objectives.is_plain());
  Expr cost = objectives.step(pass, x, {{.value = y}}, model.trained_params()).cost;
  EXPECT_EQ(cost.node().op, NegativeLogLikelihood().cost(pass.model_output(), {.value = y}).node().op);
}

// The negative log-likelihood with gradients of its own.
struct OwnGradients : NegativeLogLikelihood {
  ObjectiveStep step(const ObjectiveInput& input) override {
    ObjectiveStep out{.cost = cost(input.output, input.targets)};
    out.gradients.emplace();
    return out;
  }
};

TEST(WeightedObjectives, WhatCannotBe) {
  auto text = [](std::vector<OutputObjective> outputs) { return error_text([&] { WeightedObjectives{outputs}; }); };
  EXPECT_EQ(text({}), "error: no output of the model has an objective");
  EXPECT_EQ(text(both(-1)),
            "error: the weight of the output picture is out of range\n"
            "  expected: a finite number, at least 0\n"
            "  got:      -1");
  std::vector<OutputObjective> twice = both(1);
  twice[1].layer = "digit";
  EXPECT_EQ(text(twice), "error: two objectives judge the output digit\n  expected: one for each output");
  std::vector<OutputObjective> own = both(1);
  own[0].objective = std::make_shared<OwnGradients>();
  Model model = two_heads();
  Expr x = tensor("x", {"n", 4}, k64), y = tensor("y", {"n"}, DType::kInt64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  EXPECT_EQ(error_text([&] {
              WeightedObjectives(own).step(pass, x, {{.value = y}, {.value = x}}, model.trained_params());
            }),
            "error: objective \"negative_log_likelihood\" gives gradients of its own, which have no weighted sum\n"
            "  expected: it alone, with the weight 1");
}

}  // namespace
}  // namespace thtrain
