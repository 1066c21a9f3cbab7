// Derivatives of reductions: against differences for every case of every op, and at ties, zeros, NaN and no elements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/autodiff/verify_grad.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain::reduce_gradient_test {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

Tensor random_tensor(RandomState& rng, const Shape& shape, double low, double high) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = rng.uniform(low, high);
  return out;
}

// d sum(weights * f(x)) / dx for random weights, against differences.
void check(const std::string& name, const Type& type, const std::function<Expr(Expr)>& f, double low, double high) {
  SCOPED_TRACE(name);
  RandomState rng(1234);
  Expr x = make_input(type, "x");
  Expr y = f(x);
  const Bindings bound{{x, random_tensor(rng, type.known_shape(), low, high)}};
  ASSERT_EQ(grad(sum(y), x).type(), type);
  const GradReport report = verify_grad({y}, {x}, bound, {.tolerance = 2e-6, .elements = 50});
  EXPECT_TRUE(report.is_right) << report.text;
}

TEST(ReduceGradient, AgreesWithDifferencesForEveryCase) {
  int checked = 0;
  for (const Op* op : reduction_ops())
    for (const OpCase& c : op->cases()) {
      const Type& type = c.inputs[0];
      // The product of hundreds of elements is too steep for differences.
      if (!c.smooth || type.dtype != DType::kFloat64 || (op == &prod_op() && element_count(type.known_shape()) > 100))
        continue;
      check(
          str(op->name, " ", c.name), type, [&](Expr x) { return c.build({x})[0]; }, c.low, c.high);
      ++checked;
    }
  EXPECT_GT(checked, 50);
}

TEST(ReduceGradient, OfMeanVarAndStdAgreesWithDifferences) {
  Type type{.dtype = DType::kFloat64, .dims = {3, 4, 2}};
  for (const Axes& axes : {Axes(), Axes(1), Axes{0, 2}})
    for (bool keepdims : {false, true}) {
      check(
          "mean", type, [&](Expr x) { return mean(x, axes, keepdims); }, -2, 2);
      check(
          "var", type, [&](Expr x) { return var(x, axes, keepdims, Ddof(0)); }, -2, 2);
      check(
          "var, ddof 1", type, [&](Expr x) { return var(x, axes, keepdims, Ddof(1)); }, -2, 2);
      check(
          "std", type, [&](Expr x) { return thtrain::std(x, axes, keepdims, Ddof(0)); }, -2, 2);
    }
}

// The gradient of sum(f(x) * weights) for a matrix x.
Tensor gradient_at(const Tensor& value, const std::function<Expr(Expr)>& f, const Tensor& weights) {
  Expr x = make_input(type_of(value), "x");
  Expr y = f(x);
  return evaluate({vector_jacobian(std::vector{y}, std::vector{make_constant(weights)}, std::vector{x})[0]},
                  {{x, value}})[0];
}

void expect_equal(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type_text(), want.type_text());
  for (int64_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want.as_double(i)))
      EXPECT_TRUE(std::isnan(got.as_double(i))) << got.text();
    else
      EXPECT_DOUBLE_EQ(got.as_double(i), want.as_double(i)) << got.text();
  }
}

TEST(ReduceGradient, EveryTiedExtremumGetsTheWholeDerivative) {
  Tensor x = Tensor::matrix<double>({{3, 1, 3}, {-1, -1, -1}, {0, kInf, kInf}});
  Tensor dy = Tensor::vector<double>({2, 5, kInf});
  expect_equal(gradient_at(
                   x, [](Expr v) { return max(v, 1); }, dy),
               Tensor::matrix<double>({{2, 0, 2}, {5, 5, 5}, {0, kInf, kInf}}));
  expect_equal(gradient_at(
                   x, [](Expr v) { return min(v, 1); }, dy),
               Tensor::matrix<double>({{0, 2, 0}, {5, 5, 5}, {kInf, 0, 0}}));
}

TEST(ReduceGradient, OfAnExtremumThatIsNanGoesToTheNans) {
  Tensor x = Tensor::matrix<double>({{3, kNan, 4}, {1, 2, 0}});
  Tensor dy = Tensor::vector<double>({2, 5});
  expect_equal(gradient_at(
                   x, [](Expr v) { return max(v, 1); }, dy),
               Tensor::matrix<double>({{0, 2, 0}, {0, 5, 0}}));
}

TEST(ReduceGradient, OfAProductIsRightWithAnyNumberOfZeros) {
  Tensor x = Tensor::matrix<double>({{2, 3, 4}, {2, 0, 4}, {0, 3, 0}, {0, 0, 0}, {-0.5, 0, 1}});
  Tensor dy = Tensor::vector<double>({1, 10, 100, 1000, 2});
  expect_equal(gradient_at(
                   x, [](Expr v) { return prod(v, 1); }, dy),
               Tensor::matrix<double>({{12, 8, 6}, {0, 80, 0}, {0, 0, 0}, {0, 0, 0}, {0, -1, 0}}));
  expect_equal(gradient_at(
                   x, [](Expr v) { return prod(v, 0); }, Tensor::vector<double>({1, 1, 1})),
               Tensor::matrix<double>({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}));
}

TEST(ReduceGradient, KeepsTheDtypeAndHandlesNoElements) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Tensor none = Tensor::zeros(dtype, {0, 3});
    using Reduce = Expr (*)(const Operand&, const Axes&, KeepDims);
    for (Reduce f : {Reduce(&sum), Reduce(&prod)}) {
      Expr x = make_input(type_of(none), "x");
      Expr g = grad(sum((*f)(x, 0, false)), x);
      EXPECT_EQ(g.type(), x.type());
      EXPECT_EQ(evaluate({g}, {{x, none}})[0].shape(), (Shape{0, 3}));
    }
  }
}

TEST(ReduceGradient, IntegersAndPositionsAreNotConnected) {
  Expr x = make_input({.dtype = DType::kInt32, .dims = {3}}, "x");
  Expr y = make_input({.dtype = DType::kFloat64, .dims = {3}}, "y");
  for (const Expr& value : {argmax(y), any(y), all(y), argmin(y)}) {
    Expr cost = sum(cast(value, DType::kFloat64));
    EXPECT_THROW(grad(cost, y), UserError) << value.node().op->name;
  }
  EXPECT_THROW(grad(mean(x), x), UserError);
}

TEST(ReduceGradient, SecondDerivativeOfAVariance) {
  Expr x = make_input({.dtype = DType::kFloat64, .dims = {4}}, "x");
  Expr first = grad(var(x), x);
  Expr second = grad(sum(first * make_constant(Tensor::vector<double>({1, 0, 0, 0}))), x);
  Tensor got = evaluate({second}, {{x, Tensor::vector<double>({1, 2, 4, -3})}})[0];
  // 2 / n (1 - 1 / n) on the diagonal, -2 / n^2 off it.
  Tensor want = Tensor::vector<double>({0.375, -0.125, -0.125, -0.125});
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(got.as_double(i), want.as_double(i), 1e-15);
}

}  // namespace
}  // namespace thtrain::reduce_gradient_test
