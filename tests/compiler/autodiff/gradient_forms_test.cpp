// What grad gives where costs can be stabilized: one form or two, and of which values.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "tests/compiler/autodiff/stable_programs.h"

namespace thtrain {
namespace {

TEST(StableGradients, BothFormsAreKeptAndStrictTakesTheOneOfTheRules) {
  Expr x = vector("x", {3}), cost = sum(log(1 + exp(x)));
  const Expr gradient = grad(cost, x);
  EXPECT_TRUE(has_two_forms(gradient));
  const Tensor values = Tensor::vector({1.0, 1000.0, -1000.0});
  EXPECT_TRUE(std::isnan(evaluate({gradient}, {{x, values}})[0].as_double(1)));
  EXPECT_TRUE(std::isnan(computed({gradient}, {{x, values}}, Level::kStrict)[0].as_double(1)));
  for (Level level : {Level::kStandard, Level::kFast})
    EXPECT_EQ(computed({gradient}, {{x, values}}, level)[0].as_double(1), 1);
}

// Nothing to stabilize: the gradient is the plain one, to the node.
TEST(StableGradients, OneFormWhereNothingIsStabilized) {
  Expr x = matrix("x", {4, 3}), w = matrix("w", {3, 5}), b = vector("b", {5}), y = tensor("y", {4}, DType::kInt64);
  Expr cost = mean(categorical_crossentropy_logits(tanh(dot(x, w)) + b, y)) + 0.1 * sum(sqr(w)) + 0.2 * sum(abs(w));
  for (const Expr& gradient : grad(cost, {w, b})) EXPECT_FALSE(has_two_forms(gradient));
}

TEST(StableGradients, WithRespectToAValueOnTheWay) {
  Expr x = vector("x", {5}), z = 2 * x, p = sigmoid(z), cost = -sum(log(1 - p));
  const Tensor values = Tensor::vector({-400.0, -1.0, 0.0, 1.0, 400.0});
  const std::vector<Tensor> got = computed(grad(cost, {z, x}), {{x, values}});
  for (int64_t i = 0; i < 5; ++i) {
    const double want = static_cast<double>(logistic(2 * values.as_double(i)));
    EXPECT_NEAR(got[0].as_double(i), want, 1e-15);
    EXPECT_NEAR(got[1].as_double(i), 2 * want, 1e-15);
  }
  // d cost / dp itself is what it is: 1 / (1 - p).
  const Tensor dp = computed({grad(cost, p)}, {{x, values}})[0];
  EXPECT_NEAR(dp.as_double(2), 2, 1e-15);
  EXPECT_TRUE(std::isinf(dp.as_double(4)));
}

// Two values of one formula: each is a variable of its own.
TEST(StableGradients, EqualValuesStayApart) {
  Expr x = scalar("x"), a = 3 * x, b = 3 * x, cost = log(1 + exp(a)) + 5 * b;
  const std::vector<Tensor> got = computed(grad(cost, {a, b}), {{x, Tensor(400.0)}});
  EXPECT_EQ(got[0].as_double(), 1);
  EXPECT_EQ(got[1].as_double(), 5);
}

TEST(StableGradients, ConstantsAndKnownGradients) {
  Expr x = vector("x", {2}), z = 3 * x, h = log(1 + exp(z));
  const Tensor values = Tensor::vector({400.0, -1.0});
  const Expr constant = grad(sum(h * z), x, {.consider_constant = {z}, .disconnected = Disconnected::kZero});
  EXPECT_EQ(computed({constant}, {{x, values}})[0].as_double(0), 0);
  const Expr without = grad(sum(h * sigmoid(z)), x, {.consider_constant = {h}});
  EXPECT_EQ(computed({without}, {{x, values}})[0].as_double(0), 0);
  const Expr given = grad({}, x, {.known_grads = {{h, full({2}, 7.0)}}});
  EXPECT_EQ(computed({given}, {{x, values}})[0].as_double(0), 21);
}

TEST(StableGradients, SecondDerivatives) {
  Expr x = scalar("x"), first = grad(log(1 + exp(x)), x), second = grad(first, x);
  for (double at : {-1000.0, -3.0, 0.0, 2.0, 1000.0}) {
    const double s = static_cast<double>(logistic(at) * logistic(-at));
    EXPECT_NEAR(computed({second}, {{x, Tensor(at)}})[0].as_double(), s, 1e-15 * s);
  }
  EXPECT_TRUE(std::isnan(evaluate({second}, {{x, Tensor(1000.0)}})[0].as_double()));
}

// What prints does so once: a gradient through a value that prints is the plain one.
TEST(StableGradients, AnEffectIsNotMadeTwice) {
  Expr x = scalar("x"), cost = log(1 + exp(print(log(exp(x)), "h")));
  size_t prints = 0;
  const std::vector<Expr> values{cost, grad(cost, x)};
  for (const Node* node : topological_order(values)) prints += node->op->has_effect;
  EXPECT_EQ(prints, 1u);
}

TEST(StableGradients, AMaskOfAStableFormKeepsItsOneLength) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr l = log(sigmoid(x));
  const Expr cost = sum(masked(x, l > -0.6)), of_form = sum(masked(l, l > -0.6)) + sum(l);
  const Tensor values = Tensor::vector({0.5, -0.25, 1.5});
  for (const Mode mode : {Mode::kNative, Mode::kReference}) {
    const std::vector<Tensor> got =
        function({x}, {grad(cost, x), grad(of_form, x), grad(sum(grad(of_form, x)), x)}, {}, {.mode = mode})({values});
    EXPECT_EQ(got[0].text(), "[1, 0, 1]");
    for (int64_t i = 0; i < 3; ++i) {
      const double s = 1 / (1 + std::exp(-values.as_double(i))), count = i == 1 ? 1 : 2;
      EXPECT_NEAR(got[1].as_double(i), count * (1 - s), 1e-12);
      EXPECT_NEAR(got[2].as_double(i), -count * s * (1 - s), 1e-12);
    }
  }
}

TEST(StableGradients, OfALogarithmOfSumsOverAMask) {
  const Expr x = tensor("x", {1, 3}, DType::kFloat64);
  const Expr first = grad(logsumexp(masked(x, x > 0)), x);
  const Tensor got = function({x}, {grad(sum(first * x), x)})({Tensor::matrix({{0.5, -1.0, 2.0}})})[0];
  const double p = 1 / (1 + std::exp(1.5)), slope = p * (1 - p);  // of the two that the mask takes
  EXPECT_NEAR(got.as_double(0), p + slope * (0.5 - 2), 1e-12);
  EXPECT_EQ(got.as_double(1), 0);
  EXPECT_NEAR(got.as_double(2), 1 - p - slope * (0.5 - 2), 1e-12);
}

}  // namespace
}  // namespace thtrain
