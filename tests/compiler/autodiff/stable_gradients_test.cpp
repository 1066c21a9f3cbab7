// Gradients of costs as they are written down, where exponentials overflow and probabilities round to 0 and 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/autodiff/stable_programs.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

// Is the gradient of sum(cost(x)), as it is optimized, the derivative? To rounding errors of the derivative, or of the
// terms that it is the sum of: `terms` is the sum of their sizes.
using Elementwise = std::function<Expr(const Expr&)>;
using Derivative = std::function<long double(long double)>;
void expect_elementwise(const Elementwise& cost, const Derivative& derivative, const std::vector<double>& points,
                        const Derivative& terms = {}) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
    Expr x = tensor("x", {static_cast<int64_t>(points.size())}, dtype);
    const Expr total = sum(cost(x));
    const Tensor values = Tensor::of(points, {static_cast<int64_t>(points.size())}).cast(dtype);
    const Tensor got = computed({grad(total, x)}, {{x, values}})[0];
    for (int64_t i = 0; i < got.size(); ++i) {
      const double want = static_cast<double>(derivative(values.as_double(i)));
      const double size = terms ? static_cast<double>(terms(values.as_double(i))) : std::abs(want);
      const double unit = dtype == DType::kFloat32 ? 1.2e-7 : 2.3e-16, tiny = dtype == DType::kFloat32 ? 1e-37 : 1e-300;
      EXPECT_NEAR(got.as_double(i), want, 16 * unit * size + tiny)
          << name_of(dtype) << " at " << values.as_double(i) << ": " << expr_text(total, 300);
    }
  }
}

const std::vector<double> kEverywhere{0,  1e-30, -1e-30, 1e-5, 0.5, -1,  3,   -3,   20,   -20,
                                      37, -37,   50,     -50,  90,  -90, 700, -700, 1000, -1000};

// ---- the sigmoid ---------------------------------------------------------------------------------------------------

TEST(StableGradients, CrossEntropyOfASigmoid) {
  const std::vector<Elementwise> probabilities{
      [](const Expr& x) { return sigmoid(x); },
      [](const Expr& x) { return 1 / (1 + exp(-x)); },
      [](const Expr& x) { return exp(x) / (1 + exp(x)); },
      [](const Expr& x) { return 0.5 * (1 + tanh(0.5 * x)); },
  };
  for (const Elementwise& probability : probabilities)
    for (double y : {0.0, 0.5, 0.25, 1.0}) {
      auto derivative = [y](long double x) { return (1 - y) * logistic(x) - y * logistic(-x); };
      auto terms = [y](long double x) { return (1 - y) * logistic(x) + y * logistic(-x); };
      auto plain = [&](const Expr& p) { return -(y * log(p) + (1 - y) * log(1 - p)); };
      expect_elementwise([&](const Expr& x) { return plain(probability(x)); }, derivative, kEverywhere, terms);
      expect_elementwise([&](const Expr& x) { return -y * log(probability(x)) - (1 - y) * log(1 - probability(x)); },
                         derivative, kEverywhere, terms);
      expect_elementwise([&](const Expr& x) { return binary_crossentropy(probability(x), y); }, derivative, kEverywhere,
                         terms);
    }
}

// One node p that the logarithms, a switch, a mask and others read.
TEST(StableGradients, CrossEntropyOfASharedSigmoid) {
  expect_elementwise(
      [](const Expr& x) {
        Expr p = sigmoid(x);
        return -switch_(x > 10, log(p), log(1 - p));
      },
      [](long double x) { return x > 10 ? -logistic(-x) : logistic(x); }, kEverywhere);
  expect_elementwise(
      [](const Expr& x) {
        Expr p = sigmoid(x), mask = cast(x > -30, x.dtype());
        return -(3 * mask * log(p) + 2 * (1 - mask) * log1p(-p)) / 7 + 0 * p;
      },
      [](long double x) { return x > -30 ? -3 * logistic(-x) / 7 : 2 * logistic(x) / 7; }, kEverywhere);
  expect_elementwise(
      [](const Expr& x) {
        Expr p = sigmoid(x), q = 1 - p;
        return p * log(p) + q * log(q);
      },
      [](long double x) { return x * logistic(x) * logistic(-x); }, kEverywhere,
      [](long double x) { return 1 + std::abs(x); });
}

TEST(StableGradients, LossesOfTanh) {
  expect_elementwise([](const Expr& x) { return log(1 - sqr(tanh(x))); },
                     [](long double x) { return -2 * std::tanh(x); }, kEverywhere);
  expect_elementwise([](const Expr& x) { return log(1 + tanh(x)); }, [](long double x) { return 2 * logistic(-2 * x); },
                     kEverywhere);
  expect_elementwise([](const Expr& x) { return log(1 - tanh(x)); }, [](long double x) { return -2 * logistic(2 * x); },
                     kEverywhere);
  expect_elementwise([](const Expr& x) { return 0.5 * (log(1 + tanh(x)) - log(1 - tanh(x))); },
                     [](long double) { return 1.0L; }, kEverywhere);
  expect_elementwise([](const Expr& x) { return 0.5 * log((1 + tanh(x)) / (1 - tanh(x))); },
                     [](long double) { return 1.0L; }, kEverywhere);
  expect_elementwise([](const Expr& x) { return arctanh(tanh(x)); }, [](long double) { return 1.0L; }, kEverywhere);
}

// ---- softmax -------------------------------------------------------------------------------------------------------

using Probabilities = std::function<Expr(const Expr& z)>;
const std::vector<Probabilities>& softmaxes() {
  static const std::vector<Probabilities> all{
      [](const Expr& z) { return softmax(z); },
      [](const Expr& z) { return exp(z) / sum(exp(z), 1, true); },
      [](const Expr& z) {
        Expr e = exp(z);
        return e / sum(e, 1, true);
      },
      [](const Expr& z) {
        Expr e = exp(z - max(z, 1, true));
        return e / sum(e, 1, true);
      },
      [](const Expr& z) { return exp(z - max(z, 1, true)) / sum(exp(z - max(z, 1, true)), 1, true); },
      [](const Expr& z) {
        Expr e = exp(z);
        return e * (1 / sum(e, 1, true));
      },
      [](const Expr& z) { return exp(z - log(sum(exp(z), 1, true))); },
  };
  return all;
}

TEST(StableGradients, CrossEntropyOfAHandWrittenSoftmax) {
  const std::vector<double> scores{1000, 0, -1000, 1, 2, 3, -50, 750, 750, 0, 0, 0};
  const int64_t labels[] = {1, 0, 2, 2};
  for (size_t i = 0; i < softmaxes().size(); ++i)
    for (int loss = 0; loss < 3; ++loss)
      for (DType dtype : {DType::kFloat64, DType::kFloat32})
        for (bool known : {true, false}) {
          SCOPED_TRACE(str("softmax ", i, ", loss ", loss, ", ", name_of(dtype), known ? "" : ", unknown lengths"));
          Dims dims = known ? Dims{4, 3} : Dims{"n", "k"};
          Expr z = tensor("z", dims, dtype), y = tensor("y", {dims[0]}, DType::kInt64);
          Expr p = softmaxes()[i](z), one_hot = scatter_add_rows(zeros_like(z), y, ones_like(pick_rows(z, y)));
          Expr cost = loss == 0   ? -sum(one_hot * log(p)) / 4
                      : loss == 1 ? -mean(log(pick_rows(p, y)))
                                  : -mean(pick_rows(log(p), y));
          const Tensor values = Tensor::of(scores, {4, 3}).cast(dtype);
          const Tensor targets = Tensor::vector({labels[0], labels[1], labels[2], labels[3]});
          const std::vector<Tensor> got = computed({cost, grad(cost, z)}, {{z, values}, {y, targets}});
          EXPECT_TRUE(std::isfinite(got[0].as_double()));
          for (int64_t r = 0; r < 4; ++r) {
            double total = 0, largest = -INFINITY;
            for (int64_t k = 0; k < 3; ++k) largest = std::max(largest, scores[static_cast<size_t>(3 * r + k)]);
            for (int64_t k = 0; k < 3; ++k) total += std::exp(scores[static_cast<size_t>(3 * r + k)] - largest);
            for (int64_t k = 0; k < 3; ++k) {
              const double p_k = std::exp(scores[static_cast<size_t>(3 * r + k)] - largest) / total;
              EXPECT_NEAR(got[1].contiguous().cast(DType::kFloat64).at<double>({r, k}), (p_k - (k == labels[r])) / 4,
                          dtype == DType::kFloat32 ? 1e-7 : 1e-15)
                  << r << ", " << k;
            }
          }
        }
}

// ---- sums of exponentials over any axes ----------------------------------------------------------------------------

// exp(x) over its sum along the axes: by hand.
std::vector<double> softmax_over(const Tensor& x, const std::vector<int64_t>& axes) {
  auto is_summed = [&](size_t axis) {
    return axes.empty() || std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
  };
  std::vector<double> values;
  std::vector<int64_t> group;  // elements that are summed together have one number
  for_each_index(x.shape(), [&](const Shape& at) {
    int64_t number = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) number = number * 100 + (is_summed(axis) ? 0 : at[axis]);
    values.push_back(x.as_double(static_cast<int64_t>(values.size())));
    group.push_back(number);
  });
  std::vector<double> out;
  for (size_t i = 0; i < values.size(); ++i) {
    double total = 0;
    for (size_t k = 0; k < values.size(); ++k)
      if (group[k] == group[i]) total += std::exp(values[k] - values[i]);
    out.push_back(1 / total);
  }
  return out;
}

using OverAxes = std::function<Expr(const Expr& x, const std::vector<int64_t>& axes, bool keepdims)>;
// Is the gradient of the cost `scale` times the softmax, plus `shift`, whichever axes are summed?
void expect_softmax_over_any_axes(const OverAxes& cost,
                                  const std::function<double(double p, double length)>& derivative) {
  const std::vector<double> values{1000, 1000, 0, 0, -3, 750, 1, 2, 3, -1000, -1000, -999};
  const std::vector<std::vector<int64_t>> choices{{}, {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}};
  const Shape shape{2, 3, 2};
  for (const std::vector<int64_t>& axes : choices)
    for (bool keepdims : {false, true})
      for (DType dtype : {DType::kFloat64, DType::kFloat32})
        for (bool known : {true, false}) {
          SCOPED_TRACE(str("axes ", join(axes, ", "), keepdims ? ", kept" : "", ", ", name_of(dtype),
                           known ? "" : ", unknown lengths"));
          Expr x = tensor("x", known ? Dims{2, 3, 2} : Dims{"n", "m", "k"}, dtype);
          const Tensor at = Tensor::of(values, shape).cast(dtype);
          const Expr total = cost(x, axes, keepdims);
          const std::vector<Tensor> both = computed({total, grad(total, x)}, {{x, at}});
          EXPECT_TRUE(std::isfinite(both[0].as_double()));
          const Tensor got = both[1].contiguous();
          double length = 1;
          for (size_t axis = 0; axis < 3; ++axis)
            if (axes.empty() || std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end())
              length *= static_cast<double>(shape[axis]);
          const std::vector<double> p = softmax_over(at, axes);
          for (int64_t i = 0; i < got.size(); ++i)
            EXPECT_NEAR(got.as_double(i), derivative(p[static_cast<size_t>(i)], length),
                        dtype == DType::kFloat32 ? 3e-6 : 1e-14)
                << "element " << i;
        }
}

TEST(StableGradients, LogSumExpOverAnyAxes) {
  expect_softmax_over_any_axes([](const Expr& x, const std::vector<int64_t>& axes,
                                  bool keepdims) { return sum(log(sum(exp(x), axes, keepdims))); },
                               [](double p, double) { return p; });
  expect_softmax_over_any_axes([](const Expr& x, const std::vector<int64_t>& axes,
                                  bool keepdims) { return 3 * sum(log(mean(exp(x), axes, keepdims))); },
                               [](double p, double) { return 3 * p; });
}

TEST(StableGradients, HandWrittenSoftmaxOverAnyAxes) {
  auto probabilities = [](const Expr& x, const std::vector<int64_t>& axes) { return exp(x) / sum(exp(x), axes, true); };
  expect_softmax_over_any_axes(
      [&](const Expr& x, const std::vector<int64_t>& axes, bool) { return sum(log(probabilities(x, axes))); },
      [](double p, double length) { return 1 - length * p; });
  expect_softmax_over_any_axes(
      [&](const Expr& x, const std::vector<int64_t>& axes, bool) { return sum(x - log(sum(exp(x), axes, true))); },
      [](double p, double length) { return 1 - length * p; });
}

TEST(StableGradients, MatricesOfUnknownLengths) {
  Expr x = matrix("x");
  const Tensor at = Tensor::of(std::vector<double>{1000, 1000, 0, 0}, {2, 2});
  const Tensor all = computed({grad(log(sum(exp(x))), x)}, {{x, at}})[0].contiguous();
  const Tensor columns = computed({grad(sum(log(sum(exp(x), 0))), x)}, {{x, at}})[0].contiguous();
  const Expr p = exp(x) / sum(exp(x));
  const Tensor softmax = computed({grad(sum(log(p)), x)}, {{x, at}})[0].contiguous();
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all.as_double(i), i < 2 ? 0.5 : 0);
    EXPECT_EQ(columns.as_double(i), i < 2 ? 1 : 0);
    EXPECT_EQ(softmax.as_double(i), i < 2 ? -1 : 1);
  }
}

TEST(StableGradients, LogarithmsOfSumsOfExponentials) {
  expect_elementwise([](const Expr& x) { return log((exp(x) + exp(-x)) / 2); },
                     [](long double x) { return std::tanh(x); }, kEverywhere);
  expect_elementwise([](const Expr& x) { return log(exp(x) + exp(2 - x) + exp(-3 * x)); },
                     [](long double x) {
                       const long double m = std::max({x, 2 - x, -3 * x});
                       const long double a = std::exp(x - m), b = std::exp(2 - x - m), c = std::exp(-3 * x - m);
                       return (a - b - 3 * c) / (a + b + c);
                     },
                     kEverywhere, [](long double) { return 3.0L; });
  Expr x = scalar("x"), total = exp(x) + exp(2 * x) + exp(-x) + exp(3 * x);
  for (const Expr& cost : {log(total), log(0.5 * total), log((exp(x) + exp(-x)) / 2)}) {
    EXPECT_TRUE(std::isfinite(computed({cost}, {{x, Tensor(1000.0)}})[0].as_double())) << expr_text(cost);
    EXPECT_TRUE(std::isfinite(computed({cost}, {{x, Tensor(-1000.0)}})[0].as_double())) << expr_text(cost);
  }
}

// What attention computes, divided after the sum.
TEST(StableGradients, MeansWeightedByExponentials) {
  const Tensor at = Tensor::of(std::vector<double>{1000, 1000, 0, -1000, 2, 2}, {2, 3});
  const Tensor values = Tensor::of(std::vector<double>{1, 3, 9, 5, 4, 6}, {2, 3});
  const double want[] = {-0.5, 0.5, 0, 0, -0.5, 0.5};
  for (bool known : {true, false})
    for (bool keepdims : {true, false}) {
      const Dims dims = known ? Dims{2, 3} : Dims{"n", "k"};
      Expr x = tensor("x", dims, DType::kFloat64), v = tensor("v", dims, DType::kFloat64);
      const Expr mean = sum(exp(x) * v, 1, keepdims) / sum(exp(x), 1, keepdims);
      const std::vector<Tensor> got = computed({mean, grad(sum(mean), x)}, {{x, at}, {v, values}});
      EXPECT_EQ(got[0].as_double(0), 2);
      EXPECT_EQ(got[0].as_double(1), 5);
      for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(got[1].contiguous().as_double(i), want[i], 1e-15) << i;
    }
}

// ---- first and second gradients ------------------------------------------------------------------------------------

// Are the first and the second derivative of the cost right, alone and in one program? `cancelled` is the size of what
// cancels in the second one.
void expect_first_and_second(const Elementwise& cost, const Derivative& first, const Derivative& second,
                             const std::vector<double>& points, double cancelled = 0) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
    const int64_t count = static_cast<int64_t>(points.size());
    Expr x = tensor("x", {count}, dtype);
    const Expr g = grad(sum(cost(x)), x), g2 = grad(sum(g), x);
    const Tensor at = Tensor::of(points, {count}).cast(dtype);
    const std::vector<Tensor> both = computed({g, g2}, {{x, at}});
    const Tensor alone = computed({g}, {{x, at}})[0], second_alone = computed({g2}, {{x, at}})[0];
    const double unit = dtype == DType::kFloat32 ? 1.2e-7 : 2.3e-16, tiny = dtype == DType::kFloat32 ? 1e-37 : 1e-300;
    for (int64_t i = 0; i < count; ++i) {
      const double value = at.as_double(i), want = static_cast<double>(first(value)),
                   want2 = static_cast<double>(second(value));
      const std::string where = str(name_of(dtype), " at ", value, " of ", expr_text(cost(x), 300));
      // The terms of a second derivative are products of first ones.
      const double bound = 64 * unit * std::abs(want) + tiny;
      const double bound2 = 256 * unit * (std::abs(want2) + want * want + cancelled) + tiny;
      EXPECT_NEAR(alone.as_double(i), want, bound) << "the first alone, " << where;
      EXPECT_NEAR(both[0].as_double(i), want, bound) << "the first, " << where;
      EXPECT_NEAR(second_alone.as_double(i), want2, bound2) << "the second alone, " << where;
      EXPECT_NEAR(both[1].as_double(i), want2, bound2) << "the second, " << where;
    }
  }
}

TEST(StableGradients, SecondDerivativesOfLog1MinusExp) {
  auto first = [](long double x) { return 1 / std::expm1(x); };
  auto second = [](long double x) { return x > 3000 ? 0.0L : -std::exp(-x) / std::expm1(-x) / std::expm1(-x); };
  const std::vector<double> points{0.01, 0.5, 1, 5, 20, 60, 85, 89, 100, 700, 710, 720, 1000, 2000};
  expect_first_and_second([](const Expr& x) { return log1p(-exp(-x)); }, first, second, points);
  expect_first_and_second([](const Expr& x) { return log(1 - exp(-x)); }, first, second, points, 1);
}

// erfc(x) = exp(-x^2) * tail(x).
long double tail_of_erfc(long double x) {
  if (x < 50) return std::exp(x * x) * std::erfc(x);
  const long double t = 0.5L / (x * x);
  return (1 - t * (1 - t * (3 - t * (15 - t * 105)))) / (x * 1.7724538509055160273L);
}
long double slope_of_log_erfc(long double x) {
  return -1.1283791670955125739L / tail_of_erfc(x);
}

TEST(StableGradients, SecondDerivativesOfLogErfc) {
  auto second = [](long double x) {
    const long double first = slope_of_log_erfc(x);
    return -first * (2 * x + first);
  };
  const std::vector<double> points{0, 0.5, 1, 3};
  expect_first_and_second([](const Expr& x) { return log(erfc(x)); }, slope_of_log_erfc, second, points);
  // Farther out two terms as large as x^2 cancel.
  for (DType dtype : {DType::kFloat64, DType::kFloat32})
    for (double at : {5.0, 8.0, 8.9, 9.1, 9.5, 10.0, 12.0, 13.0, 24.0, 25.5, 26.0, 26.5, 27.0, 30.0, 100.0}) {
      const double unit = dtype == DType::kFloat32 ? 1.2e-7 : 2.3e-16;
      Expr x = tensor("x", {}, dtype);
      const Tensor value = Tensor(at).cast(dtype);
      for (const Elementwise& cost : std::vector<Elementwise>{[](const Expr& u) { return log(erfc(u)); },
                                                              [](const Expr& u) { return log(1 - erf(u)); },
                                                              [](const Expr& u) { return log(1 + erf(-u)); }}) {
        const Expr g = grad(cost(x), x), g2 = grad(g, x);
        const std::vector<Tensor> both = computed({g, g2}, {{x, value}});
        const long double point = value.as_double();
        EXPECT_NEAR(both[0].as_double(), static_cast<double>(slope_of_log_erfc(point)), 1e3 * unit * at)
            << name_of(dtype) << " at " << at << " of " << expr_text(cost(x));
        EXPECT_NEAR(both[1].as_double(), static_cast<double>(second(point)), 1e3 * unit * at * at)
            << name_of(dtype) << " at " << at << " of " << expr_text(cost(x));
      }
    }
}

TEST(StableGradients, LossesOfHalfATanh) {
  auto derivative = [](long double x) { return -2 * logistic(2 * x); };
  expect_elementwise([](const Expr& x) { return log(0.5 - 0.5 * tanh(x)); }, derivative, kEverywhere);
  expect_elementwise([](const Expr& x) { return log(0.5 - tanh(x) / 2); }, derivative, kEverywhere);
  expect_elementwise([](const Expr& x) { return log(3 - 3 * tanh(x)); }, derivative, kEverywhere);
  auto other = [](long double x) { return 2 * logistic(-2 * x); };
  expect_elementwise([](const Expr& x) { return log(0.5 + 0.5 * tanh(x)); }, other, kEverywhere);
  expect_elementwise([](const Expr& x) { return log(3 * tanh(x) + 3); }, other, kEverywhere);
}

// What is differentiated with respect to, or held constant, may itself have a form for derivatives.
TEST(StableGradients, WithRespectToAValueThatHasAForm) {
  const Expr x = vector("x", {2});
  const Tensor value = Tensor::vector({0.5, 0.75});
  for (const Elementwise& f : std::vector<Elementwise>{
           [](const Expr& u) { return log(sqr(u)); }, [](const Expr& u) { return log(u * (u + 1)); },
           [](const Expr& u) { return log(expm1(u)); }, [](const Expr& u) { return log(1 - tanh(u)); }}) {
    const Expr s = f(x);
    const std::vector<Expr> made{grad(sum(sqr(s)), s), 2 * s, grad(sum(s * x), x, {.consider_constant = {s}}), s};
    const std::vector<Tensor> out = computed(made, {{x, value}});
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(out[0].as_double(i), out[1].as_double(i), 1e-14) << expr_text(s);
      EXPECT_NEAR(out[2].as_double(i), out[3].as_double(i), 1e-14) << expr_text(s);
    }
  }
}

// Forms inside the body of a loop: h = log(sum of exp(x_t)), whose derivative is softmax(x).
TEST(StableGradients, InsideALoop) {
  const Expr x = vector("x", {4});
  const Expr h =
      reduce([](Expr x_t, Expr h) { return log(exp(x_t) + exp(h)); }, {.sequences = {x}, .outputs_info = {-1.0}})
          .outputs;
  expect_gradient(sin(h), {x}, {Tensor::vector({0.5, -0.25, 1.0, 0.75})});
  const std::vector<double> points = {900.0, -800.0, 901.0, 899.5};
  const Tensor out = computed({grad(h, x)}, {{x, Tensor::of(points, {4})}})[0];
  double total = 0;
  for (double point : points) total += std::exp(point - 901);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(out.as_double(i), std::exp(points[static_cast<size_t>(i)] - 901) / total, 1e-12);
}

}  // namespace
}  // namespace thtrain
