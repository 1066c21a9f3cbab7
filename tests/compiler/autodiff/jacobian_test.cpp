// Jacobians and Hessians compared with closed forms and differences; products with Hessians compared with the Hessian.
#include "compiler/autodiff/jacobian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/error_text.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

size_t loops_in(const Expr& output, const std::vector<Expr>& inputs) {
  size_t out = 0;
  const Graph graph = optimize({.inputs = inputs, .outputs = {output}, .updates = {}}, {});
  for (const Node* node : topological_order(graph.roots())) out += node->op->name == "scan";
  return out;
}

// d tanh(W x)_i / d x_j = (1 - y_i^2) W_ij, and d / d W_kj is x_j (1 - y_i^2) where k = i.
TEST(Jacobian, OfALayerIsItsClosedForm) {
  const Expr W = matrix("W", {3, 4}), x = vector("x", {4}), y = tanh(dot(W, x));
  const std::vector<Expr> J = jacobian(y, {x, W});
  const Tensor w = drawn({3, 4}, 1), v = drawn({4}, 2);
  const std::vector<Tensor> out = in_all_modes({W, x}, J, {w, v});
  ASSERT_EQ(out[0].shape(), (Shape{3, 4}));
  ASSERT_EQ(out[1].shape(), (Shape{3, 3, 4}));
  for (int64_t i = 0; i < 3; ++i) {
    double z = 0;
    for (int64_t j = 0; j < 4; ++j) z += w.at<double>({i, j}) * v.at<double>({j});
    const double slope = 1 - std::tanh(z) * std::tanh(z);
    for (int64_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(out[0].at<double>({i, j}), slope * w.at<double>({i, j}), 1e-12);
      for (int64_t k = 0; k < 3; ++k)
        EXPECT_NEAR(out[1].at<double>({i, k, j}), k == i ? slope * v.at<double>({j}) : 0, 1e-12);
    }
  }
}

TEST(Jacobian, WithRespectToAVectorIsOneComputation) {
  const Expr W = matrix("W", {3, 4}), x = vector("x", {4});
  EXPECT_EQ(loops_in(jacobian(tanh(dot(W, x)), x), {W, x}), 0u);
}

// What docs/semantics.md says of the gradients of single examples: map of grad gives them without a loop.
TEST(Jacobian, OfLossesOfExamplesIsWhatMapOfGradGives) {
  const Expr x = matrix("x", {5, 4}), t = vector("t", {5}), w = matrix("w", {4, 3}), u = vector("u", {3});
  const auto loss = [&](const Expr& of_x, const Expr& of_t) { return sqr(dot(tanh(dot(of_x, w)), u) - of_t); };
  const auto of_one = [&](const Expr& one_x, const Expr& one_t) { return grad(loss(one_x, one_t), w); };
  const Expr mapped = map(of_one, {.sequences = {x, t}}).outputs;
  EXPECT_EQ(loops_in(mapped, {x, t, w, u}), 0u);
  const std::vector<Tensor> out = in_all_modes({x, t, w, u}, {jacobian(loss(x, t), w), mapped},
                                               {drawn({5, 4}, 1), drawn({5}, 2), drawn({4, 3}, 3), drawn({3}, 4)});
  ASSERT_EQ(out[0].shape(), (Shape{5, 4, 3}));
  EXPECT_EQ(difference(out[0], out[1], 64), std::nullopt);
}

TEST(Jacobian, TakesValuesOfAnyRankAndLengthsOfTheCall) {
  const Expr x = matrix("x"), s = scalar("s");
  const std::vector<Expr> J = jacobian(s * sqr(x), {x, s});
  const std::vector<Tensor> out = in_all_modes({x, s}, J, {drawn({2, 3}, 1), Tensor(0.5)});
  ASSERT_EQ(out[0].shape(), (Shape{2, 3, 2, 3}));
  ASSERT_EQ(out[1].shape(), (Shape{2, 3}));
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_DOUBLE_EQ(out[0].as_double(6 * i + j), i == j ? drawn({2, 3}, 1).as_double(i) : 0);
  EXPECT_EQ(in_all_modes({x, s}, J, {drawn({0, 3}, 1), Tensor(0.5)})[0].shape(), (Shape{0, 3, 0, 3}));
  const Expr of_scalar = jacobian(sum(x * s), x);
  EXPECT_EQ(in_all_modes({x, s}, {of_scalar}, {drawn({2, 3}, 1), Tensor(0.5)})[0].shape(), (Shape{2, 3}));
}

TEST(Jacobian, GoesThroughALoop) {
  const Expr h0 = vector("h0", {2}), W = matrix("W", {2, 2});
  const Expr h = reduce([&](Expr h) { return tanh(dot(W, h)); }, {.outputs_info = {h0}, .n_steps = 3}).outputs;
  const Expr J = jacobian(h, h0);
  const std::vector<Tensor> values = {drawn({2}, 1), drawn({2, 2}, 2)};
  const Tensor out = in_all_modes({h0, W}, {J}, values)[0];
  Function f = function({h0, W}, {h});
  for (int64_t j = 0; j < 2; ++j) {
    Tensor above = values[0].copy(), below = values[0].copy();
    above.data<double>()[j] += 1e-6, below.data<double>()[j] -= 1e-6;
    const Tensor up = f({above, values[1]})[0], down = f({below, values[1]})[0];
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_NEAR(out.at<double>({i, j}), (up.as_double(i) - down.as_double(i)) / 2e-6, 1e-8);
  }
}

// x^T A x / 2 + sum x^3 has the Hessian (A + A^T) / 2 + 6 diag(x).
TEST(Hessian, IsItsClosedForm) {
  const Expr A = matrix("A", {3, 3}), x = vector("x", {3});
  const Expr cost = 0.5 * dot(x, dot(A, x)) + sum(x * x * x);
  const Tensor a = drawn({3, 3}, 1), v = drawn({3}, 2), d = drawn({3}, 3);
  const Expr direction = vector("d", {3});
  const std::vector<Tensor> out =
      in_all_modes({A, x, direction}, {hessian(cost, x), hessian_vector_product(cost, x, direction)}, {a, v, d});
  for (int64_t i = 0; i < 3; ++i) {
    double product = 0;
    for (int64_t j = 0; j < 3; ++j) {
      const double expected =
          0.5 * (a.at<double>({i, j}) + a.at<double>({j, i})) + (i == j ? 6 * v.at<double>({i}) : 0);
      EXPECT_NEAR(out[0].at<double>({i, j}), expected, 1e-12);
      product += expected * d.at<double>({j});
    }
    EXPECT_NEAR(out[1].as_double(i), product, 1e-12);
  }
}

TEST(Hessian, OfALinearCostIsZero) {
  const Expr x = vector("x", {3}), d = vector("d", {3});
  const std::vector<Tensor> out =
      in_all_modes({x, d}, {hessian(sum(2 * x), x), hessian_vector_product(sum(2 * x), x, d), sum(d) + sum(x)},
                   {drawn({3}, 1), drawn({3}, 2)});
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(out[0].as_double(i), 0);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(out[1].as_double(i), 0);
}

// Of a recurrent network, through the loop and its gradient.
TEST(Hessian, VectorProductsAgreeWithTheHessianOfALoop) {
  const Expr W = matrix("W", {2, 2}), h0 = vector("h0", {2}), V = matrix("V", {2, 2});
  const Expr h = scan([&](Expr h) { return tanh(dot(W, h)); }, {.outputs_info = {h0}, .n_steps = 4}).outputs;
  const Expr cost = sum(sqr(h - 0.5));
  const std::vector<Tensor> out = in_all_modes({W, h0, V}, {hessian(cost, W), hessian_vector_product(cost, W, V)},
                                               {drawn({2, 2}, 1), drawn({2}, 2), drawn({2, 2}, 3)});
  for (int64_t i = 0; i < 4; ++i) {
    double product = 0;
    for (int64_t j = 0; j < 4; ++j) {
      product += out[0].as_double(4 * i + j) * drawn({2, 2}, 3).as_double(j);
      EXPECT_NEAR(out[0].as_double(4 * i + j), out[0].as_double(4 * j + i), 1e-12) << "symmetric";
    }
    EXPECT_NEAR(out[1].as_double(i), product, 1e-12);
  }
}

TEST(Hessian, IsThatOfAScalar) {
  const Expr x = vector("x", {3}), v = vector("v", {3});
  const std::string rest =
      ": the cost must be a floating scalar\n"
      "  got:      float64[3]\n"
      "  hint:     take its sum or mean first; jacobian(grad(sum(y), x), x) has the second derivatives of y where each "
      "element of y is made of its own element of x";
  EXPECT_EQ(text_without_node([&] { hessian(sqr(x), x); }), "error: hessian" + rest);
  EXPECT_EQ(text_without_node([&] { hessian_vector_product(sqr(x), x, v); }), "error: hessian_vector_product" + rest);
}

TEST(Jacobian, SaysWhatIsNotConnected) {
  const Expr x = vector("x", {3}), z = vector("z", {2});
  EXPECT_THROW(jacobian(exp(x), z), UserError);
  const Expr zeros = jacobian(exp(x), z, {.disconnected = Disconnected::kZero});
  EXPECT_EQ(in_all_modes({x, z}, {zeros, sum(x) + sum(z)}, {drawn({3}, 1), drawn({2}, 2)})[0].shape(), (Shape{3, 2}));
}

}  // namespace
}  // namespace thtrain
