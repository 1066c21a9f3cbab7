// logsumexp: against NumPy's logaddexp.reduce, at extremes, its derivative, and the optimizer's form of
// log(sum(exp(x))).
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/forward.h"
#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double value_of(const Expr& x) {
  return evaluate({x}, {})[0].as_double();
}

Expr constant(std::initializer_list<double> elements, DType dtype = DType::kFloat64) {
  return make_constant(Tensor::vector(elements).cast(dtype));
}

// Both forms optimized on the same input.
Graph optimized(const Expr& x, const Expr& y, Level level = Level::kStandard) {
  return optimize({.inputs = {x}, .outputs = {y}, .updates = {}}, {.level = level, .verify = true});
}

TEST(LogSumExp, KnownValues) {
  EXPECT_DOUBLE_EQ(value_of(logsumexp(constant({0, 0}))), std::log(2.0));
  EXPECT_DOUBLE_EQ(value_of(logsumexp(constant({1, 2, 3}))), 3.4076059644443806);
  EXPECT_DOUBLE_EQ(value_of(logsumexp(constant({-1.5}))), -1.5);
  EXPECT_FLOAT_EQ(static_cast<float>(value_of(logsumexp(constant({1, 2, 3}, DType::kFloat32)))), 3.407606f);
  EXPECT_DOUBLE_EQ(value_of(logsumexp(7.25)), 7.25);
}

TEST(LogSumExp, StableAtExtremes) {
  EXPECT_DOUBLE_EQ(value_of(logsumexp(constant({1000, 1000}))), 1000 + std::log(2.0));
  EXPECT_DOUBLE_EQ(value_of(logsumexp(constant({-1000, -1000}))), -1000 + std::log(2.0));
  EXPECT_EQ(value_of(logsumexp(constant({1e308, -1e308}))), 1e308);
  EXPECT_EQ(value_of(logsumexp(constant({-kInf, 2}))), 2);
  EXPECT_EQ(value_of(logsumexp(constant({-kInf, -kInf}))), -kInf);
  EXPECT_EQ(value_of(logsumexp(constant({kInf, 2}))), kInf);
  EXPECT_EQ(value_of(logsumexp(constant({kInf, -kInf}))), kInf);
  EXPECT_TRUE(std::isnan(value_of(logsumexp(constant({NAN, kInf})))));
  EXPECT_EQ(value_of(logsumexp(constant({3e38, 3e38}, DType::kFloat32))), double(3e38f));
}

TEST(LogSumExp, OverNoElementsIsMinusInfinity) {
  EXPECT_EQ(value_of(logsumexp(constant({}))), -kInf);
  Expr x = matrix("x");  // only the call knows that there are none
  Tensor out = function({x}, {logsumexp(x, 1)})({Tensor::empty(DType::kFloat64, {2, 0})})[0];
  EXPECT_EQ(out.text(), "[-inf, -inf]");
}

TEST(LogSumExp, AxesAndKeepdimsAreThoseOfSum) {
  Expr x = tensor("x", {2, 3, 4}, DType::kFloat32);
  EXPECT_EQ(logsumexp(x).type().text(), "float32[]");
  EXPECT_EQ(logsumexp(x, 1).type().text(), "float32[2, 4]");
  EXPECT_EQ(logsumexp(x, -1, true).type().text(), "float32[2, 3, 1]");
  EXPECT_EQ(logsumexp(x, {0, 2}).type().text(), "float32[3]");
  EXPECT_EQ(logsumexp(x, {}, true).type().text(), "float32[1, 1, 1]");
  Tensor rows = Tensor::matrix({{0.0, 0.0}, {1.0, 1.0}});
  EXPECT_EQ(evaluate({logsumexp(make_constant(rows), 1)}, {})[0].text(), "[0.6931471805599453, 1.6931471805599454]");
}

TEST(LogSumExp, IntegersAndBoolsGiveFloatX) {
  for (DType dtype : {DType::kBool, DType::kInt8, DType::kUInt64}) {
    Expr y = logsumexp(constant({1, 1}, dtype));
    EXPECT_EQ(y.dtype(), floatX());
    EXPECT_DOUBLE_EQ(value_of(y), 1 + std::log(2.0)) << name_of(dtype);
  }
}

TEST(LogSumExp, WrongArguments) {
  EXPECT_EQ(text_without_node([] { logsumexp(tensor("z", {3}, DType::kComplex64)); }),
            "error: logsumexp: complex numbers have no largest one\n"
            "  expected: real numbers\n"
            "  got:      z complex64[3]");
  EXPECT_EQ(text_without_node([] { logsumexp(tensor("x", {3}, DType::kFloat32), 1); }),
            "error: logsumexp: there is no axis 1\n"
            "  expected: an axis from -1 to 0\n"
            "  got:      axes [1] of 1 dimensions");
}

TEST(LogSumExp, IsTheOptimizersForm) {
  for (const Dims& dims : {Dims{3, 5}, Dims{"n", "m"}}) {
    for (bool keepdims : {false, true}) {
      Expr x = tensor("x", dims, DType::kFloat64);
      Graph direct = optimized(x, logsumexp(x, 1, keepdims)), plain = optimized(x, log(sum(exp(x), 1, keepdims)));
      EXPECT_EQ(graph_text(direct), graph_text(plain));
    }
  }
}

TEST(LogSumExp, AlsoWhereNoRuleMayChangeTheRange) {
  Expr x = vector("x");
  Tensor value = Tensor::vector({1000.0, 1000.0});
  const double want = 1000 + std::log(2.0);
  EXPECT_DOUBLE_EQ(function({x}, {logsumexp(x)}, {}, {.mode = Mode::kReference})({value})[0].as_double(), want);
  EXPECT_DOUBLE_EQ(function({x}, {logsumexp(x)}, {}, {.level = Level::kStrict})({value})[0].as_double(), want);
}

TEST(LogSumExp, TheDerivativeIsTheSoftmax) {
  Expr x = tensor("x", {2, 3}, DType::kFloat64);
  Expr weights = make_constant(Tensor::vector({2.0, -1.0}));
  Expr gradient = grad(sum(weights * logsumexp(x, 1)), x);
  const std::vector<Tensor> values = {Tensor::matrix({{0.5, -1.0, 2.0}, {3.0, 3.0, 3.0}}),
                                      Tensor::matrix({{1000.0, 0.0, -1000.0}, {-1000.0, -1000.0, -999.0}}),
                                      Tensor::matrix({{-kInf, 0.0, 1.0}, {1e300, 1e300, 0.0}})};
  for (const Tensor& value : values) {
    std::vector<Tensor> out = evaluate({gradient, softmax(x)}, {{x, value}});
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_NEAR(out[0].as_double(i), out[1].as_double(i) * (i < 3 ? 2 : -1), 1e-15) << value.text() << ", " << i;
  }
}

// log(sum(exp(x))) does not depend on the number that is taken off, so neither do its derivatives.
TEST(LogSumExp, TheGradientDoesNotDifferentiateTheMaximum) {
  const Expr x = matrix("x");
  const Expr first = grad(sum(logsumexp(x, 1)), x);
  for (const Node* node : topological_order(std::vector{first})) {
    // The derivative of a maximum compares the elements with it.
    EXPECT_NE(node->op->name, "eq");
    EXPECT_NE(node->op->name, "argmax");
  }
  RandomState random(3);
  const Tensor at = Tensor::of(random.uniform(-30, 30, 28), {4, 7});
  const Tensor got = evaluate({first}, {{x, at}})[0];
  for (int64_t i = 0; i < 4; ++i) {
    long double largest = -1e300L, total = 0;
    for (int64_t j = 0; j < 7; ++j) largest = std::max(largest, static_cast<long double>(at.at<double>({i, j})));
    for (int64_t j = 0; j < 7; ++j) total += std::exp(at.at<double>({i, j}) - largest);
    for (int64_t j = 0; j < 7; ++j) {
      const long double below = largest - at.at<double>({i, j});
      const double softmax = static_cast<double>(std::exp(-below) / total);
      // The difference is rounded before it is exponentiated, then the sum and the quotient are.
      const double bound = (4 + static_cast<double>(below)) * 1.2e-16 * softmax;
      EXPECT_NEAR(got.at<double>({i, j}), softmax, bound) << i << ", " << j;
    }
  }
}

TEST(LogSumExp, TheSecondDerivativeIsThatOfTheSoftmax) {
  const Expr x = vector("x"), v = vector("v");
  const Expr product = grad(sum(grad(logsumexp(x), x) * v), x);  // (diag(p) - p p^T) v
  const Expr forward = jvp(grad(logsumexp(x), x), x, v);
  const Tensor at = Tensor::vector({0.5, -1.0, 3.0}), along = Tensor::vector({1.0, 2.0, -0.5});
  double p[3], total = 0, mean = 0;
  for (int64_t i = 0; i < 3; ++i) total += p[i] = std::exp(at.as_double(i));
  for (int64_t i = 0; i < 3; ++i) mean += (p[i] /= total) * along.as_double(i);
  for (const Tensor& got : evaluate({product, forward}, {{x, at}, {v, along}}))
    for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(got.as_double(i), p[i] * (along.as_double(i) - mean), 1e-15);
  for (const Tensor& got : function({x, v}, {product, forward})({at, along}))
    for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(got.as_double(i), p[i] * (along.as_double(i) - mean), 1e-15);
}

}  // namespace
}  // namespace thtrain
