// Objectives that give gradients or updates of their own instead of a cost to differentiate.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/dtypes.h"
#include "tests/support/model_support.h"

namespace thtrain {
namespace {

// F. Rosenblatt's perceptron: W <- W + r x^T (t - [x W > 0]). The rule is no gradient of what is shown, the share of
// errors, which is constant almost everywhere.
class Perceptron : public Objective {
 public:
  struct Options : ObjectiveOptions {
    std::unique_ptr<Objective> make() const override { return std::make_unique<Perceptron>(*this); }
  };
  explicit Perceptron(const Options& options) : Objective("perceptron", options) {}
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kValues}; }
  ObjectiveStep step(const ObjectiveInput& input) override {
    Expr surplus = cast(gt(input.output.value, 0), k64) - values_for(input.output.value, input.targets.value);
    return {.cost = cost(input.output, input.targets), .gradients = {{dot(transpose(input.x), surplus)}}};
  }

 protected:
  Expr elements(const ModelOutput& output, const Expr& targets, TargetForm) const override {
    return cast(neq(gt(output.value, 0), gt(targets, 0.5)), k64);
  }
};

// E. Oja's rule: W <- W + r (x^T y - W y^T y) / n, y = x W, which finds the first principal component; r falls with the
// number of steps, the objective's state. There are no targets, and no optimizer moves W.
class Oja : public Objective {
 public:
  struct Options : ObjectiveOptions {
    double rate = 0.5;
    std::unique_ptr<Objective> make() const override { return std::make_unique<Oja>(*this); }
  };
  explicit Oja(const Options& options) : Objective("oja", options), rate_(options.rate) {}
  std::vector<TargetForm> target_forms() const override { return {TargetForm::kNone}; }
  ObjectiveStep step(const ObjectiveInput& input) override {
    if (!steps_) steps_.emplace(0.0, "oja/steps");
    const Expr &x = input.x, &y = input.output.value, &w = input.params.at(0).expr();
    Expr rate = rate_ / (1 + *steps_ / 10) / length(x, 0);
    ObjectiveStep out{.cost = cost(input.output, input.targets), .gradients = {{Expr()}}};
    out.updates = {{w, w + rate * (dot(transpose(x), y) - w * sum(sqr(y)))}, {*steps_, *steps_ + 1}};
    return out;
  }
  std::vector<std::pair<std::string, Shared>> state() const override {
    if (!steps_) return {};
    return {{steps_->name(), *steps_}};
  }

 protected:
  // How much of the examples the component does not show.
  Expr elements(const ModelOutput& output, const Expr&, TargetForm) const override { return -sqr(output.value); }

 private:
  double rate_;
  std::optional<Shared> steps_;
};

// What a trainer does with any objective: descends along its gradients, or along those of its cost.
std::vector<Update> plain_descent(const ObjectiveStep& step, const std::vector<Param>& params, double rate) {
  std::vector<Expr> exprs;
  for (const Param& param : params) exprs.push_back(param.expr());
  std::vector<Expr> gradients = step.gradients ? *step.gradients : grad(step.cost, exprs);
  std::vector<Update> out = step.updates;
  for (size_t i = 0; i < exprs.size(); ++i)
    if (gradients[i].has_value()) out.push_back({exprs[i], exprs[i] - rate * gradients[i]});
  return out;
}

struct Line {
  Expr x = tensor("x", {4, 2}, k64), t = tensor("t", {4, 1}, k64);
  Shared w{Tensor::of(std::vector<double>{0.25, 0.5}, {2, 1}), "line/W"};
  std::vector<Param> params = {{"line/W", w}};
  ObjectiveInput input() const { return {x, {dot(x, w)}, {t}, params}; }
};

TEST(ObjectiveUpdates, ACostIsDifferentiated) {
  Line line;
  ObjectiveStep step = SquaredError().step(line.input());
  EXPECT_FALSE(step.gradients.has_value());
  EXPECT_TRUE(step.updates.empty());
  Function f = function({line.x, line.t}, {step.cost}, plain_descent(step, line.params, 0.5), kReference);
  Tensor x = Tensor::matrix<double>({{1, 0}, {0, 1}, {1, 0}, {0, 1}}), t = Tensor::matrix<double>({{1}, {1}, {1}, {1}});
  EXPECT_EQ(f({x, t})[0].as_double(), (0.5625 + 0.25) / 2);
  // d cost / d W = 2 (1/4) (2 (w - 1)) = w - 1 for each weight.
  EXPECT_EQ(line.w.get_value().text(), "[[0.625], [0.75]]");
}

TEST(ObjectiveUpdates, ThePerceptronRuleSeparatesWhatCanBeSeparated) {
  Line line;
  std::unique_ptr<Objective> objective = Perceptron::Options().make();
  ObjectiveStep step = objective->step(line.input());
  ASSERT_TRUE(step.gradients.has_value());
  Function f = function({line.x, line.t}, {step.cost}, plain_descent(step, line.params, 1), kReference);
  Tensor x = Tensor::matrix<double>({{1, 2}, {2, 1}, {-1, 3}, {1, -4}}),
         t = Tensor::matrix<double>({{0}, {1}, {0}, {1}});
  EXPECT_EQ(f({x, t})[0].as_double(), 0.75);
  // x W = 1.25, 1, 1.25, -1.75: W - (1, 2) - (-1, 3) + (1, -4).
  EXPECT_EQ(line.w.get_value().text(), "[[1.25], [-8.5]]");
  double errors = 1;
  for (int i = 0; i < 20 && errors > 0; ++i) errors = f({x, t})[0].as_double();
  EXPECT_EQ(errors, 0);
}

TEST(ObjectiveUpdates, OjasRuleFindsThePrincipalComponent) {
  Line line;
  std::unique_ptr<Objective> objective = Oja::Options().make();
  EXPECT_TRUE(objective->state().empty());
  ObjectiveInput input = line.input();
  input.targets = {};
  ObjectiveStep step = objective->step(input);
  std::vector<Update> updates = plain_descent(step, line.params, 1);
  ASSERT_EQ(updates.size(), 2u);
  Function f = function({line.x}, {step.cost}, updates, kReference);
  // The covariance is [[2.5, 1.5], [1.5, 2.5]]: eigenvectors (1, 1) and (1, -1) of 4 and 1.
  Tensor x = Tensor::matrix<double>({{2, 2}, {-2, -2}, {1, -1}, {-1, 1}});
  for (int i = 0; i < 200; ++i) f({x});
  Tensor w = line.w.get_value();
  EXPECT_NEAR(std::abs(w.as_double(0)), std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(w.as_double(0), w.as_double(1), 1e-6);
  EXPECT_NEAR(f({x})[0].as_double(), -4, 1e-5);
  ASSERT_EQ(objective->state().size(), 1u);
  EXPECT_EQ(objective->state()[0].first, "oja/steps");
  EXPECT_EQ(objective->state()[0].second.get_value().as_double(), 201);
}

}  // namespace
}  // namespace thtrain
