// Random costs at extremes: the value and the gradients of the program that the optimizer makes, compared with the cost
// and its gradients as they were written in numbers of 3200 digits; the first gradient alone, and with the second one,
// which shares values with it. THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES ask for more.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/function.h"
#include "tests/fuzz/random_cost.h"
#include "tests/fuzz/wide_evaluator.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain {
namespace {

constexpr uint64_t kSeed = 20250611;
constexpr int64_t kCases = 60;

// Rounding errors of terms as large as the arguments, and of the sums of them. The terms of the second derivative of
// log(erfc(x)) are as large as squares of x.
double tolerance(const RandomCost& c, const Wide& exact, bool second) {
  double largest = 0;
  for (const Tensor& values : {c.inputs[0].second, c.inputs[1].second})
    for (int64_t i = 0; i < values.size(); ++i) largest = std::max(largest, std::abs(values.as_double(i)));
  double size = 1 + largest;
  for (const Node* node : topological_order(std::vector{c.cost}))
    if (second && (node->op->name == "erf" || node->op->name == "erfc")) size = (1 + largest) * (1 + largest);
  const double unit = c.cost.dtype() == DType::kFloat32 ? 0x1p-24 : 0x1p-53;
  return 256 * unit * (std::abs(exact.to_double()) + c.weight * size);
}

std::string described(const RandomCost& c) {
  std::string out = str(expr_text(c.cost, 4000), "\n");
  for (const auto& [leaf, value] : c.inputs)
    out += str("  ", leaf.name(), ": ", leaf.type().text(), " = ", value.text(), "\n");
  return out;
}

// What is wrong with the values; empty where nothing is.
std::string difference(const RandomCost& c, const std::vector<Tensor>& got, const std::vector<WideTensor>& exact) {
  for (size_t k = 0; k < got.size(); ++k) {
    const Tensor values = got[k].contiguous();
    for (int64_t i = 0; i < values.size(); ++i) {
      const Wide& wanted = exact[k].elements[static_cast<size_t>(i)];
      const double largest = c.cost.dtype() == DType::kFloat32 ? 3.4e38 : 1.79e308;
      if (!wanted.is_finite() || !(std::abs(wanted.to_double()) < largest)) continue;
      const bool second = k > c.wrt.size();
      if (std::abs(values.as_double(i) - wanted.to_double()) <= tolerance(c, wanted, second)) continue;
      const std::string of = k == 0 ? "" : str(c.wrt[(k - 1) % c.wrt.size()].name(), ", element ", i);
      return str(k == 0   ? "the cost"
                 : second ? "the second gradient of "
                          : "the gradient of ",
                 of, " is ", values.as_double(i), " and not ", wanted.to_double());
    }
  }
  return {};
}

std::vector<Expr> cost_and_gradients(const RandomCost& c) {
  std::vector<Expr> out = grad(c.cost, c.wrt, {.disconnected = Disconnected::kZero});
  out.insert(out.begin(), c.cost);
  return out;
}

// Of the second derivatives, a sum for each element: those of numbers times the first ones.
std::vector<Expr> with_second_gradients(const RandomCost& c, std::vector<Expr> outputs) {
  Expr total;
  for (size_t k = 0; k < c.wrt.size(); ++k) {
    const Shape shape = c.wrt[k].type().known_shape();
    std::vector<double> numbers;
    for (int64_t i = 0; i < element_count(shape); ++i)
      numbers.push_back(std::vector{1.0, -0.5, 2.0, 0.25, -1.0}[i % 5]);
    const Expr term = sum(outputs[k + 1] * make_constant(Tensor::of(numbers, shape).cast(c.cost.dtype())));
    total = total.has_value() ? total + term : term;
  }
  for (const Expr& second : grad(total, c.wrt, {.disconnected = Disconnected::kZero})) outputs.push_back(second);
  return outputs;
}

Graph graph_of(const RandomCost& c, const std::vector<Expr>& outputs) {
  Graph out{.inputs = {}, .outputs = outputs, .updates = {}};
  for (const auto& [leaf, value] : c.inputs) out.inputs.push_back(leaf);
  return out;
}

TEST(StableCosts, AgreeWithWideNumbersAfterRewriting) {
  const FuzzSettings settings = fuzz_settings(kSeed, kCases);
  SCOPED_TRACE(settings.text());
  int64_t failed = 0;
  for (int64_t i = 0; i < settings.cases; ++i) {
    std::mt19937_64 random(settings.seed + static_cast<uint64_t>(i));
    const RandomCost c = random_cost(random);
    const std::vector<Expr> outputs = cost_and_gradients(c), all = with_second_gradients(c, outputs);
    const std::vector<WideTensor> exact = evaluate_wide(all, c.inputs);
    auto computed = [&](const std::vector<Expr>& values) {
      return evaluate(optimize(graph_of(c, values), {.level = Level::kStandard, .verify = true}).outputs, c.inputs);
    };
    std::string wrong = difference(c, computed(outputs), exact);
    if (wrong.empty())
      if (const std::string difference_of_both = difference(c, computed(all), exact); !difference_of_both.empty())
        wrong = "with second gradients: " + difference_of_both;
    EXPECT_EQ(wrong, "") << "THTRAIN_FUZZ_SEED=" << settings.seed + static_cast<uint64_t>(i) << " of " << described(c);
    if (!wrong.empty() && ++failed == 20) break;
  }
}

// A compiled program each, so these are few.
TEST(StableCosts, AgreeWithWideNumbersInNativeCode) {
  FuzzSettings settings = fuzz_settings(kSeed + 1'000'000, 2);
  settings.cases = (settings.cases + 99) / 100;
  for (int64_t i = 0; i < settings.cases; ++i) {
    std::mt19937_64 random(settings.seed + static_cast<uint64_t>(i));
    const RandomCost c = random_cost(random);
    const std::vector<Expr> outputs = cost_and_gradients(c);
    std::vector<In> inputs;
    std::vector<Tensor> values;
    for (const Expr& read : leaves_of(outputs))
      for (const auto& [leaf, value] : c.inputs)
        if (leaf.same(read)) {
          inputs.emplace_back(leaf);
          values.push_back(value);
        }
    std::vector<Out> outs(outputs.begin(), outputs.end());
    Function f = function(inputs, outs, {}, {.threads = 1});
    EXPECT_EQ(difference(c, f(values), evaluate_wide(outputs, c.inputs)), "")
        << "THTRAIN_FUZZ_SEED=" << settings.seed + static_cast<uint64_t>(i) << " of " << described(c);
  }
}

// Debug mode holds the stable form of a second gradient against the plain one, as grad wrote both.
TEST(StableCosts, SecondGradientsInDebugMode) {
  Expr x = vector("x");
  const std::vector<double> points{0.5, 5, 40, 700, 710, 720, 1000};
  const Tensor at = Tensor::of(points, {static_cast<int64_t>(points.size())});
  for (const Expr& cost : {log1p(-exp(-x)), log(1 - exp(-x))}) {
    const Expr first = grad(sum(cost), x);
    Function f = function({x}, {grad(sum(first), x)}, {}, {.mode = Mode::kDebug, .threads = 1});
    const Tensor second = f({at})[0];
    for (size_t i = 0; i < points.size(); ++i) {
      const double e = -std::expm1(-points[i]);
      EXPECT_NEAR(second.as_double(static_cast<int64_t>(i)), -std::exp(-points[i]) / (e * e), 1e-15);
    }
  }
}

}  // namespace
}  // namespace thtrain
