// Values whose derivatives are stopped, made 0, clipped or scaled: in both modes, in bodies, and in compiled programs.
#include "compiler/ops/control/stop_gradient.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/forward.h"
#include "compiler/autodiff/gradient.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/passes/drop_gradient_ops.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

const Expr x = tensor("x", {3}, DType::kFloat64);
const Tensor at = Tensor::vector({1.0, -2.0, 3.0});

// Of a value of x; the same in every mode.
std::string text_of(const Expr& value) {
  const std::string out = evaluate({value}, {{x, at}})[0].text();
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug})
    EXPECT_EQ(function({x}, {value}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})({at})[0].text(), out);
  return out;
}

Expr tangent(const Expr& value) {
  return jvp(value, x, make_constant(Tensor::vector({1.0, 1.0, 1.0})), {.disconnected = Disconnected::kZero});
}

TEST(StopGradient, TheValueIsThatOfItsInput) {
  for (const Expr& value : {stop_gradient(x), zero_grad(x), grad_clip(x, -1, 1), grad_scale(x, 3)})
    EXPECT_EQ(text_of(value), "[1, -2, 3]");
}

TEST(StopGradient, OnlyWhatIsNotStoppedHasADerivative) {
  EXPECT_EQ(text_of(grad(sum(stop_gradient(x) * x), x)), "[1, -2, 3]");
  EXPECT_EQ(text_of(tangent(stop_gradient(x) * x)), "[1, -2, 3]");
  EXPECT_EQ(text_of(grad(sum(zero_grad(x) * x), x)), "[1, -2, 3]");
  EXPECT_EQ(text_of(tangent(zero_grad(x) * x)), "[1, -2, 3]");
}

TEST(StopGradient, ACostThatReadsItAloneIsDisconnected) {
  const std::string text = text_without_node([] { grad(sum(sqr(stop_gradient(x))), x); });
  EXPECT_NE(text.find("does not depend on x float64[3]"), std::string::npos) << text;
  EXPECT_EQ(text_of(grad(sum(sqr(zero_grad(x))), x)), "[0, 0, 0]") << "zero_grad counts as connected";
  EXPECT_EQ(text_of(grad(sum(sqr(stop_gradient(x))), x, {.disconnected = Disconnected::kZero})), "[0, 0, 0]");
}

TEST(StopGradient, DerivativesAreClippedAndScaledWhereTheyPass) {
  EXPECT_EQ(text_of(grad(sum(sqr(grad_clip(x, -1.5, 2))), x)), "[2, -1.5, 2]");
  EXPECT_EQ(text_of(tangent(sqr(grad_clip(x, -0.5, 0.5)))), "[1, -2, 3]") << "the tangent of x is clipped, 1 to 0.5";
  EXPECT_EQ(text_of(grad(sum(sqr(grad_scale(x, -0.5))), x)), "[-1, 2, -3]");
  EXPECT_EQ(text_of(tangent(sqr(grad_scale(x, -0.5)))), "[-1, 2, -3]");
}

TEST(StopGradient, HoldsForSecondDerivatives) {
  const Expr first = grad(sum(x * x * stop_gradient(x)), x);  // 2 x c
  EXPECT_EQ(text_of(first), "[2, 8, 18]");
  EXPECT_EQ(text_of(grad(sum(first), x)), "[2, -4, 6]");
}

// The stable form of the cost is differentiated: the stop must be in it.
TEST(StopGradient, HoldsInStableForms) {
  const Expr cost = sum(log(1.0 + exp(x)) * stop_gradient(log(1.0 + exp(x))));
  const Tensor got = evaluate({grad(cost, x)}, {{x, at}})[0];
  for (int64_t i = 0; i < 3; ++i) {
    const double v = at.as_double(i);
    EXPECT_NEAR(got.as_double(i), std::log1p(std::exp(v)) / (1 + std::exp(-v)), 1e-12);
  }
}

TEST(StopGradient, HoldsInBodies) {
  auto iteration = [](const std::vector<Expr>& s) { return std::vector{s[0] * stop_gradient(s[0])}; };
  // x^4 as ((x c) c') with the copies held: two iterations of derivative c, then x c.
  const Expr out = repeat(2, {x}, iteration)[0];
  EXPECT_EQ(text_of(out), "[1, 16, 81]");
  EXPECT_EQ(text_of(grad(sum(out), x)), "[1, -8, 27]");
}

TEST(StopGradient, NothingOfItIsLeftInAProgram) {
  Graph graph{.inputs = {x}, .outputs = {stop_gradient(exp(x)) + grad_scale(x, 2)}, .updates = {}};
  const Graph optimized = optimize(graph, {.verify = true});
  for (const Node* node : topological_order(optimized.outputs))
    EXPECT_FALSE(node->op->only_derivatives) << node->op->name;
  const Graph plain{.inputs = {x}, .outputs = {exp(x)}, .updates = {}};
  EXPECT_TRUE(drop_gradient_ops(plain, {}).outputs[0].same(plain.outputs[0]));
}

TEST(StopGradient, BoundsAreChecked) {
  EXPECT_EQ(text_without_node([] { grad_clip(x, 1, -1); }),
            "error: grad_clip: the bounds are in the wrong order\n"
            "  expected: low <= high\n"
            "  got:      1 and -1");
  EXPECT_EQ(text_without_node([] { grad_clip(tensor("n", {2}, DType::kInt64), -1, 1); }),
            "error: grad_clip: only derivatives of real floating values can be clipped\n"
            "  expected: float32 or float64\n"
            "  got:      n int64[2]");
}

}  // namespace
}  // namespace thtrain
