// What grad gives where there is no derivative, gradients of parts of graphs, and derivatives compared with
// differences.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/error_text.h"

namespace thtrain::gradient_options_test {
namespace {

using Values = std::vector<Expr>;
using Bindings = std::vector<std::pair<Expr, Tensor>>;

// The value itself, by an op without a rule for its gradient.
Expr without_rule(const Expr& x) {
  static const OpFromFunction op(
      {.name = "no_rule", .version = "1", .compute = [](const std::vector<Tensor>& in) { return in; }});
  return op({x})[0];
}

TEST(GradOptions, ADisconnectedOneMayBeEmpty) {
  const Expr x = scalar("x"), y = scalar("y");
  const GradOptions options{.disconnected = Disconnected::kEmpty};
  const Values got = grad(sqr(x), {x, y}, options);
  EXPECT_TRUE(got[0].has_value());
  EXPECT_FALSE(got[1].has_value());
  EXPECT_FALSE(vjp(sqr(x), y, x, options).has_value());
  EXPECT_FALSE(jvp(sqr(x), y, x, {.disconnected = Disconnected::kEmpty}).has_value());
}

TEST(GradOptions, AnOpWithoutARuleIsAnErrorOrZeroOrEmpty) {
  const Expr x = scalar("x"), y = scalar("y"), z = scalar("z");
  const Expr inner = 2 * x, cost = sqr(x) * y + without_rule(inner * z);
  EXPECT_EQ(text_without_node([&] { grad(cost, x); }),
            "error: grad: the op no_rule has no rule for its gradient\n"
            "  got:      no_rule float64[], on which the derivative depends\n"
            "  hint:     give the op a gradient, or a connection that is false where a result has no derivative; "
            "stop_gradient(x) takes x as constant");
  const Bindings at{{x, Tensor(3.0)}, {y, Tensor(5.0)}, {z, Tensor(7.0)}};
  const std::vector<Tensor> zero = evaluate(grad(cost, {x, y, z, inner}, {.null_gradients = NullGradients::kZero}), at);
  EXPECT_EQ(zero[0].as_double(), 30);  // the way by sqr(x) alone
  EXPECT_EQ(zero[1].as_double(), 9);
  EXPECT_EQ(zero[2].as_double(), 0);
  EXPECT_EQ(zero[3].as_double(), 0);
  const Values empty = grad(cost, {x, y, z, inner}, {.null_gradients = NullGradients::kEmpty});
  EXPECT_FALSE(empty[0].has_value());
  EXPECT_EQ(evaluate({empty[1]}, at)[0].as_double(), 9);
  EXPECT_FALSE(empty[2].has_value());
  EXPECT_FALSE(empty[3].has_value());
  // What is disconnected is not what an op without a rule ends.
  const Expr w = scalar("w");
  EXPECT_EQ(text_without_node([&] { grad(cost, w, {.null_gradients = NullGradients::kZero}); }),
            "error: grad: the cost does not depend on w float64[]\n"
            "  got:      no path of the graph leads from w to the cost\n"
            "  hint:     leave it out of wrt, or ask for zeros with GradOptions{.disconnected = Disconnected::kZero}");
}

TEST(GradOptions, AConstantEndsTheWayOfAnOpWithoutARule) {
  const Expr x = scalar("x"), inner = 2 * x, cost = sqr(x) + without_rule(inner);
  const GradOptions options{.consider_constant = {inner}, .null_gradients = NullGradients::kEmpty};
  EXPECT_EQ(evaluate({grad(cost, x, options)}, {{x, Tensor(3.0)}})[0].as_double(), 6);
}

TEST(GradOptions, JacobiansAreNeverEmpty) {
  const Expr x = vector("x", {2});
  const GradOptions disconnected{.disconnected = Disconnected::kEmpty}, null{.null_gradients = NullGradients::kEmpty};
  EXPECT_EQ(text_without_node([&] { jacobian(sqr(x), x, disconnected); }),
            "error: jacobian: empty derivatives are given by grad and vjp alone\n"
            "  expected: Disconnected::kZero, NullGradients::kZero\n  got:      Disconnected::kEmpty");
  EXPECT_EQ(text_without_node([&] { hessian(sum(sqr(x)), x, null); }),
            "error: hessian: empty derivatives are given by grad and vjp alone\n"
            "  expected: Disconnected::kZero, NullGradients::kZero\n  got:      NullGradients::kEmpty");
}

// Layer by layer, from the cost on: the gradients are those of the whole.
TEST(SubgraphGrad, PartsMakeTheWhole) {
  const Expr x = vector("x", {3}), v = tensor("v", {3, 4}, DType::kFloat64), w = tensor("w", {4, 2}, DType::kFloat64);
  const Expr hidden = tanh(dot(x, v)), out = dot(hidden, w), cost = sum(sqr(out)) + sum(sqr(w));
  const SubgraphGradients last = subgraph_grad({w}, {hidden}, {}, cost);
  const SubgraphGradients first = subgraph_grad({v}, {x}, {{hidden, last.of_end[0]}});
  const Values whole = grad(cost, {w, v, x});
  RandomState random(int64_t{3});
  const Bindings at{{x, Tensor::of(random.uniform(-1, 1, 3), {3})},
                    {v, Tensor::of(random.uniform(-1, 1, 12), {3, 4})},
                    {w, Tensor::of(random.uniform(-1, 1, 8), {4, 2})}};
  const std::vector<Tensor> got = evaluate({last.of_wrt[0], first.of_wrt[0], first.of_end[0]}, at),
                            want = evaluate(whole, at);
  for (size_t k = 0; k < 3; ++k)
    for (int64_t i = 0; i < want[k].size(); ++i)
      EXPECT_NEAR(got[k].as_double(i), want[k].as_double(i), 1e-14) << k << ", " << i;
  EXPECT_EQ(text_without_node([&] { subgraph_grad({w}, {hidden}, {}); }),
            "error: subgraph_grad: without cotangents of the start the cost is an empty expression\n"
            "  expected: an expression that was built before\n  got:      Expr(), which has no value\n"
            "  hint:     Expr::has_value() tells whether there is one");
}

// ---- verify_grad ---------------------------------------------------------------------------------------------------

TEST(VerifyGrad, ReportsWhatAgrees) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  const Bindings at{{x, Tensor::vector({0.5, -1.0, 2.0})}, {y, Tensor::vector({1.0, 2.0, 3.0})}};
  const GradReport got = verify_grad({tanh(x * y), gt(x, y), sum(x) * y}, {x, y}, at);
  EXPECT_TRUE(got.is_right);
  EXPECT_EQ(got.compared, 6);
  EXPECT_LT(got.largest_error, 1e-8);
  EXPECT_EQ(got.text.find("6 elements agree; the largest error is "), 0u) << got.text;
  EXPECT_EQ(verify_grad({tanh(x * y)}, {x, y}, at, {.elements = 1}).compared, 2);
  EXPECT_EQ(verify_grad({x}, {}, at).text, "there are no elements to compare");
}

TEST(VerifyGrad, FindsTheElementThatIsWrong) {
  const Expr x = tensor("x", {2, 2}, DType::kFloat64);
  // The derivative of x^2, but 3 too much at [1, 0].
  const OpFromGraph wrong([](const Values& in) { return Values{sqr(in[0])}; },
                          [](const Values& in, const Values&, const Values& d) {
                            const Expr mistake = make_constant(Tensor::matrix({{0.0, 0.0}, {3.0, 0.0}}));
                            return Values{d[0] * (2 * in[0] + mistake)};
                          });
  const GradReport got = verify_grad({wrong({x})[0]}, {x}, {{x, Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}})}});
  EXPECT_FALSE(got.is_right);
  EXPECT_EQ(got.index, (std::vector<int64_t>{1, 0}));
  EXPECT_NEAR(got.derivative / got.difference, 1.5, 1e-6);
  EXPECT_EQ(got.text.find("of 4 elements the error is largest, 0.33333"), 0u) << got.text;
  EXPECT_NE(got.text.find(", of x float64[2, 2] at [1, 0]: derivative "), std::string::npos) << got.text;
}

TEST(VerifyGrad, NaNIsNoAgreement) {
  const Expr x = scalar("x");
  const GradReport got = verify_grad({sqrt(x)}, {x}, {{x, Tensor(-1.0)}});
  EXPECT_FALSE(got.is_right);
  EXPECT_TRUE(std::isnan(got.largest_error));
}

TEST(VerifyGrad, TakesFloat32) {
  const Expr x = tensor("x", {2}, DType::kFloat32);
  const GradReport got = verify_grad({exp(x)}, {x}, {{x, Tensor::vector({0.5F, 1.5F})}});
  EXPECT_TRUE(got.is_right) << got.text;
}

TEST(VerifyGrad, WantsFloatingInputsWithValues) {
  const Expr x = scalar("x"), y = scalar("y");
  EXPECT_EQ(text_without_node([&] {
              verify_grad({x * y}, {y}, {{x, Tensor(1.0)}});
            }),
            "error: verify_grad: derivatives are compared with respect to floating inputs with values\n"
            "  expected: x float64[]\n  got:      y float64[]");
}

}  // namespace
}  // namespace thtrain::gradient_options_test
