// Losses as they are written down, and their gradients, where probabilities round to 0 and 1.
#include "compiler/passes/stabilize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/choose_gradients.h"
#include "compiler/passes/constant_fold.h"
#include "compiler/passes/merge.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

// The passes up to stabilize.
std::vector<Expr> optimized(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                            Level level = Level::kStandard) {
  PassContext context{.level = level};
  Graph graph{inputs, outputs, {}};
  graph = constant_fold(merge(choose_gradients(graph, context), context), context);
  graph = stabilize(canonicalize(graph, context), context);
  verify(graph, "stabilize");
  return graph.outputs;
}

bool contains(const std::vector<Expr>& values, const Op& op) {
  for (const Node* node : topological_order(values))
    if (node->op == &op) return true;
  return false;
}

// ---- logistic regression, as in Bergstra et al., "Theano: a CPU and GPU math expression compiler" (2010), Fig. 1
// ------

// Rows (1000, 0), (-1000, 0), (0, 1), (0, -3), and the targets.
const Tensor kRows = Tensor::of(std::vector<double>{1000, 0, -1000, 0, 0, 1, 0, -3}, {4, 2});
const Tensor kTargets = Tensor::vector({1.0, 0.0, 1.0, 0.0});
const Tensor kWrongTargets = Tensor::vector({0.0, 1.0, 0.0, 1.0});
const double kWeights[] = {1, 0.5}, kBias = 0.25;

void expect_logistic(const Expr& x, const Expr& y, const Expr& w, const Expr& b, const std::vector<Expr>& outputs) {
  for (const Tensor& targets : {kTargets, kWrongTargets}) {
    Bindings inputs{{x, kRows}, {y, targets}, {w, Tensor::vector({kWeights[0], kWeights[1]})}, {b, Tensor(kBias)}};
    std::vector<Tensor> got = evaluate(outputs, inputs);
    double cost = 0, dw[2] = {}, db = 0;
    for (int64_t i = 0; i < 4; ++i) {
      double z = kBias, t = targets.as_double(i);
      for (int64_t k = 0; k < 2; ++k) z += kRows.at<double>({i, k}) * kWeights[k];
      cost += (std::max(z, 0.0) - z * t + std::log1p(std::exp(-std::abs(z)))) / 4;
      double dz = (1 / (1 + std::exp(-z)) - t) / 4;
      db += dz;
      for (int64_t k = 0; k < 2; ++k) dw[k] += dz * kRows.at<double>({i, k});
    }
    for (int64_t k = 0; k < 2; ++k) {
      cost += 0.01 * kWeights[k] * kWeights[k];
      dw[k] += 0.02 * kWeights[k];
      EXPECT_NEAR(got[1].as_double(k), dw[k], 1e-12 * std::abs(dw[k]));
    }
    EXPECT_NEAR(got[0].as_double(), cost, 1e-12 * cost);
    EXPECT_NEAR(got[2].as_double(), db, 1e-12);
  }
}

using Loss = std::function<Expr(const Expr& p, const Expr& y)>;
using Probability = std::function<Expr(const Expr& z)>;

TEST(Stabilize, LogisticRegressionInEverySpelling) {
  const std::vector<Probability> probabilities{
      [](const Expr& z) { return sigmoid(z); },
      [](const Expr& z) { return 1 / (1 + exp(-z)); },
      [](const Expr& z) { return exp(z) / (1 + exp(z)); },
      [](const Expr& z) { return reciprocal(exp(-z) + 1); },
  };
  const std::vector<Loss> losses{
      [](const Expr& p, const Expr& y) { return -y * log(p) - (1 - y) * log(1 - p); },
      [](const Expr& p, const Expr& y) { return -(y * log(p) + (1 - y) * log(1 - p)); },
      [](const Expr& p, const Expr& y) { return binary_crossentropy(p, y); },
  };
  for (size_t i = 0; i < probabilities.size(); ++i)
    for (size_t k = 0; k < losses.size(); ++k) {
      SCOPED_TRACE(str("probability ", i, ", loss ", k));
      Expr x = matrix("x", {"n", 2}), y = vector("y", {"n"}), w = vector("w", {2}), b = scalar("b");
      Expr cost = mean(losses[k](probabilities[i](dot(x, w) + b), y)) + 0.01 * sum(sqr(w));
      std::vector<Expr> outputs = grad(cost, {w, b});
      outputs.insert(outputs.begin(), cost);
      for (Level level : {Level::kStandard, Level::kFast}) {
        std::vector<Expr> out = optimized({x, y, w, b}, outputs, level);
        expect_logistic(x, y, w, b, out);
        for (const Op* op : {&log_op(), &exp_op(), &log1p_op()}) EXPECT_FALSE(contains(out, *op)) << op->name;
      }
    }
}

// The paper's own text: the sign of the sum is spread over the exponent.
TEST(Stabilize, TheFirstFigureOfThePaper) {
  Expr x = matrix("x", {"n", 2}), y = vector("y", {"n"}), w = vector("w", {2}), b = scalar("b");
  Expr p = 1 / (1 + exp(-dot(x, w) - b));
  Expr xent = -y * log(p) - (1 - y) * log(1 - p);
  Expr cost = mean(xent) + 0.01 * sum(sqr(w));
  std::vector<Expr> outputs = grad(cost, {w, b});
  outputs.insert(outputs.begin(), cost);
  outputs.push_back(p > 0.5);
  std::vector<Expr> out = optimized({x, y, w, b}, outputs);
  EXPECT_EQ(out[3].type().text(), "bool[n]");
  out.pop_back();
  expect_logistic(x, y, w, b, out);
}

// ---- softmax -------------------------------------------------------------------------------------------------------

// z with classes that vanish; d cost / dz = (softmax(z) - onehot) / n.
void expect_softmax_loss(const Expr& z, const Expr& y, const std::vector<Expr>& outputs) {
  Tensor scores = Tensor::of(std::vector<double>{1000, 0, -1000, 1, 2, 3, -50, 750, 750, 0, 0, 0}, {4, 3});
  const int64_t labels[] = {1, 0, 2, 2};
  std::vector<Tensor> got =
      evaluate(outputs, {{z, scores}, {y, Tensor::vector({labels[0], labels[1], labels[2], labels[3]})}});
  double cost = 0;
  for (int64_t i = 0; i < 4; ++i) {
    double largest = -INFINITY, total = 0;
    for (int64_t k = 0; k < 3; ++k) largest = std::max(largest, scores.at<double>({i, k}));
    for (int64_t k = 0; k < 3; ++k) total += std::exp(scores.at<double>({i, k}) - largest);
    cost -= (scores.at<double>({i, labels[i]}) - largest - std::log(total)) / 4;
    for (int64_t k = 0; k < 3; ++k) {
      double p = std::exp(scores.at<double>({i, k}) - largest) / total;
      EXPECT_NEAR(got[1].contiguous().at<double>({i, k}), (p - (k == labels[i])) / 4, 1e-15) << i << ", " << k;
    }
  }
  EXPECT_NEAR(got[0].as_double(), cost, 1e-12 * cost);
}

TEST(Stabilize, SoftmaxLossInEverySpelling) {
  using SoftmaxLoss = std::function<Expr(const Expr& z, const Expr& y)>;
  const std::vector<SoftmaxLoss> losses{
      [](const Expr& z, const Expr& y) { return -mean(pick_rows(log(softmax(z)), y)); },
      [](const Expr& z, const Expr& y) { return -mean(log(pick_rows(softmax(z), y))); },
      [](const Expr& z, const Expr& y) { return mean(-log(pick_rows(softmax(z), y))); },
      [](const Expr& z, const Expr& y) { return mean(categorical_crossentropy(softmax(z), y)); },
      [](const Expr& z, const Expr& y) { return mean(categorical_crossentropy_logits(z, y)); },
      [](const Expr& z, const Expr& y) { return -sum(log(pick_rows(softmax(z), y))) / 4; },
      [](const Expr& z, const Expr& y) { return -mean(log(pick_rows(softmax(z), y)) * 2) * 0.5; },
      [](const Expr& z, const Expr& y) {
        Expr onehot = scatter_add_rows(zeros_like(z), y, ones_like(pick_rows(z, y)));
        return mean(categorical_crossentropy(softmax(z), onehot));
      },
  };
  for (size_t i = 0; i < losses.size(); ++i)
    for (bool known : {true, false})
      for (Level level : {Level::kStandard, Level::kFast}) {
        SCOPED_TRACE(str("loss ", i, known ? ", known lengths" : "", ", level ", static_cast<int>(level)));
        Dims dims = known ? Dims{4, 3} : Dims{"n", "k"};
        Expr z = matrix("z", dims), y = tensor("y", {dims[0]}, DType::kInt64);
        Expr cost = losses[i](z, y);
        std::vector<Expr> out = optimized({z, y}, {cost, grad(cost, z)}, level);
        expect_softmax_loss(z, y, out);
      }
}

// What the tutorials' logistic regression compiles to: one scaled softmax, with the labels subtracted in place.
TEST(Stabilize, SoftmaxGradientIsOneIncrement) {
  Expr z = matrix("z", {600, 10}), y = tensor("y", {600}, DType::kInt64);
  for (Expr cost : {-mean(log(pick_rows(softmax(z), y))), mean(categorical_crossentropy(softmax(z), y))}) {
    Expr out = optimized({z, y}, {grad(cost, z)})[0];
    EXPECT_EQ(expr_text(out),
              "scatter(mul(0.0016666666666666668, softmax(z)), broadcast_to(-0.0016666666666666668), y)");
  }
}

TEST(Stabilize, StrictChangesNothingThatRounds) {
  const Leaves& l = leaves();
  Expr p = 1 / (1 + exp(-l.x)), loss = -l.y * log(p) - (1 - l.y) * log(1 - p);
  std::mt19937_64 random(3);
  Expr value = grad(sum(loss), l.x);
  Rewritten r = stable(value, Level::kStrict);
  for (int i = 0; i < 10; ++i) {
    Bindings inputs{{l.x, hard_values(DType::kFloat64, {7}, random)}, {l.y, hard_values(DType::kFloat64, {7}, random)}};
    EXPECT_EQ(broken_promise(Safety::kExact, value, r.value, inputs, Values::kHard), "");
  }
}

}  // namespace
}  // namespace thtrain
