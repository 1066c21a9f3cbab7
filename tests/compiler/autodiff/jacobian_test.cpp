// Jacobians, Hessians and products with them, by hand and beside each other.
#include "compiler/autodiff/jacobian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

Tensor drawn(const Shape& shape, uint64_t seed) {
  return numbers({.dtype = DType::kFloat64, .dims = Dims(shape.begin(), shape.end())}, seed);
}

TEST(Jacobian, OfAVectorIsAMatrix) {
  const Expr x = vector("x"), W = matrix("W", {2, 3});
  const Tensor at = drawn({3}, 1), weights = drawn({2, 3}, 2);
  const std::vector<Expr> J = jacobian(tanh(dot(W, x)), {x, W});
  const std::vector<Tensor> out = in_all_modes({x, W}, J, {at, weights});
  ASSERT_EQ(out[0].shape(), (Shape{2, 3}));
  ASSERT_EQ(out[1].shape(), (Shape{2, 2, 3}));
  for (int64_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 3; ++j) sum += weights.as_double(3 * i + j) * at.as_double(j);
    const double slope = 1 - std::tanh(sum) * std::tanh(sum);
    for (int64_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(out[0].as_double(3 * i + j), slope * weights.as_double(3 * i + j), 1e-12);
      for (int64_t k = 0; k < 2; ++k)
        EXPECT_NEAR(out[1].as_double(6 * i + 3 * k + j), i == k ? slope * at.as_double(j) : 0, 1e-12);
    }
  }
}

TEST(Jacobian, OfAScalarIsTheGradientAndOfAMatrixHasItsLengthsFirst) {
  const Expr x = vector("x"), y = matrix("y", {2, 3});
  const std::vector<Tensor> out = in_all_modes({x, y}, {jacobian(sum(sqr(x)), x), jacobian(y * y, y)},
                                               {Tensor::vector({1.0, 2.0}), drawn({2, 3}, 1)});
  EXPECT_EQ(out[0].text(), "[2, 4]");
  ASSERT_EQ(out[1].shape(), (Shape{2, 3, 2, 3}));
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_NEAR(out[1].as_double(6 * i + j), i == j ? 2 * drawn({2, 3}, 1).as_double(i) : 0, 1e-14);
}

TEST(Hessian, IsTheMatrixOfSecondDerivatives) {
  const Expr x = vector("x"), v = vector("v");
  const Expr cost = sum(x * x * x) + sqr(sum(x));
  const std::vector<Tensor> out = in_all_modes({x, v}, {hessian(cost, x), hessian_vector_product(cost, x, v)},
                                               {Tensor::vector({1.0, 2.0, 3.0}), Tensor::vector({1.0, 0.0, -1.0})});
  EXPECT_EQ(out[0].text(), "[[8, 2, 2], [2, 14, 2], [2, 2, 20]]");
  EXPECT_EQ(out[1].text(), "[6, 0, -18]");
  EXPECT_EQ(in_all_modes({x}, {hessian(sum(3 * x), x) + 0 * sum(x)}, {Tensor::vector({1.0, 2.0})})[0].text(),
            "[[0, 0], [0, 0]]");
}

// Of a recurrent network: Theano's tests of scan differentiate so.
TEST(Hessian, OfACostThatALoopComputes) {
  const Expr x = vector("x", {4}), w = vector("w", {2}), v = vector("v", {2});
  const Expr h = scan([](Expr x_t, Expr h, Expr w) { return tanh(w[0] * h + w[1] * x_t); },
                      {.sequences = {x}, .outputs_info = {0.1}, .non_sequences = {w}})
                     .outputs;
  const Expr cost = sum(sqr(h));
  const std::vector<Tensor> values = {drawn({4}, 1), Tensor::vector({0.7, -0.4}), Tensor::vector({0.3, 0.5})};
  const std::vector<Tensor> out =
      in_all_modes({x, w, v}, {hessian(cost, w), hessian_vector_product(cost, w, v), jacobian(h, w)}, values, 1e-10);
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_NEAR(out[1].as_double(i), out[0].as_double(2 * i) * 0.3 + out[0].as_double(2 * i + 1) * 0.5, 1e-10);
  Function slope = function({x, w}, {grad(cost, w), h}, {}, {.mode = Mode::kReference});
  for (int64_t j = 0; j < 2; ++j) {
    Tensor up = values[1].copy(), down = values[1].copy();
    up.data<double>()[j] += 1e-6;
    down.data<double>()[j] -= 1e-6;
    const std::vector<Tensor> high = slope({values[0], up}), low = slope({values[0], down});
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_NEAR(out[0].as_double(2 * i + j), (high[0].as_double(i) - low[0].as_double(i)) / 2e-6, 1e-7);
    for (int64_t t = 0; t < 4; ++t)
      EXPECT_NEAR(out[2].as_double(2 * t + j), (high[1].as_double(t) - low[1].as_double(t)) / 2e-6, 1e-7);
  }
}

TEST(Jacobian, OfWhatDoesNotDependOnIt) {
  const Expr x = vector("x"), y = vector("y");
  EXPECT_NE(error_text([&] { jacobian(sin(x), y); }).find("y"), std::string::npos);
  EXPECT_EQ(in_all_modes({x, y}, {jacobian(sin(x), y, {.disconnected = Disconnected::kZero}) + 0 * sum(y)},
                         {Tensor::vector({1.0}), Tensor::vector({1.0, 2.0})})[0]
                .text(),
            "[[0, 0]]");
}

}  // namespace
}  // namespace thtrain
