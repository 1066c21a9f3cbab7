// Gradients of costs as they are written down, where exponentials overflow and probabilities round to 0 and 1.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"

namespace thtrain {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

// The outputs as a program of this level computes them, by the references of its steps.
std::vector<Tensor> computed(const std::vector<Expr>& outputs, const Bindings& inputs, Level level = Level::kStandard) {
  Graph graph{.inputs = {}, .outputs = outputs, .updates = {}};
  for (const auto& [leaf, value] : inputs) graph.inputs.push_back(leaf);
  return evaluate(optimize(graph, {.level = level, .verify = true}).outputs, inputs);
}

bool has_two_forms(const Expr& gradient) {
  for (const Node* node : topological_order(std::vector{gradient}))
    if (node->op == &stable_gradient_op()) return true;
  return false;
}

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

long double logistic(long double x) {
  return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

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

// ---- what grad gives ----------------------------------------------------------------------------------------------

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
  for (const Node* node : topological_order(std::vector{cost, grad(cost, x)})) prints += node->op->has_effect;
  EXPECT_EQ(prints, 1u);
}

}  // namespace
}  // namespace thtrain
