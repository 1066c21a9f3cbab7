// Batch methods compared with SciPy's: the same minima, with hardly more evaluations.
#include "nn/batch_method.h"

#include <gtest/gtest.h>

#include "nn/batch_methods/conjugate_gradient.h"
#include "nn/batch_methods/lbfgs.h"
#include "nn/batch_methods/line_search.h"
#include "nn/batch_objective.h"
#include "tests/support/error_text.h"
#include "tests/support/optimizer_golden.h"

namespace thtrain {
namespace {

// What SciPy found.
struct Minimum {
  std::string problem, method;
  double tolerance, evaluations, value;
  Tensor x;
};
struct Golden {
  Tensor x, y;  // of the logistic regression
  std::map<std::string, std::vector<double>> starts, quadratics;
  std::vector<Minimum> minima;
};

Golden read_golden() {
  Golden out;
  for (const GoldenLine& line : golden_lines("optimizers.txt")) {
    const std::vector<std::string>& a = line.arguments;
    if (line.name == "logistic/x") out.x = line.result(DType::kFloat64);
    if (line.name == "logistic/y") out.y = line.result(DType::kFloat64);
    if (line.name == "quadratic")
      for (const std::string& value : line.values) out.quadratics[a[0]].push_back(std::stod(value));
    if (line.name == "start")
      for (const std::string& value : line.values) out.starts[a[0]].push_back(std::stod(value));
    if (line.name == "minimum")
      out.minima.push_back(
          {a[0], a[1], std::stod(a[2]), std::stod(a[3]), std::stod(a[4]), line.result(DType::kFloat64)});
  }
  return out;
}

double rosenbrock(std::span<const double> x, std::span<double> gradient) {
  double out = 0;
  std::fill(gradient.begin(), gradient.end(), 0.0);
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    out += 100 * a * a + b * b;
    gradient[i] += -400 * a * x[i] - 2 * b;
    gradient[i + 1] += 200 * a;
  }
  return out;
}

std::unique_ptr<BatchMethod> method_of(const std::string& name, double tolerance, std::span<const double> start) {
  std::map<std::string, double> options = {{"gradient_tolerance", tolerance}};
  if (name == "lbfgs") return kind_of<BatchMethodKind<Lbfgs>>(options).method_from(start);
  return kind_of<BatchMethodKind<ConjugateGradient>>(options).method_from(start);
}

// Logistic regression as a compiled function of shared parameters.
struct Logistic {
  Logistic(const Golden& golden, double l2, std::span<const double> start, Mode mode)
      : w(Tensor::of(start.first(8), {8}), "w"),
        b(start[8], "b"),
        x(tensor("x", {80, 8}, DType::kFloat64)),
        y(tensor("y", {80}, DType::kFloat64)),
        objective({{"w", w}, {"b", b}}, mean(binary_crossentropy_logits(dot(x, w) + b, y)) + l2 * sum(sqr(w.expr())),
                  {x, y}, {.mode = mode}),
        f(objective.at({golden.x, golden.y})) {}
  Shared w, b;
  Expr x, y;
  BatchObjective objective;
  ValueAndGradient f;
};

TEST(BatchMethods, ReachSciPysMinimumOfLogisticRegression) {
  Golden golden = read_golden();
  const std::map<std::string, double> penalties = {
      {"logistic", 0.05}, {"logistic_weak", 0.001}, {"logistic_strong", 1.0}};
  for (Mode mode : {Mode::kReference, Mode::kNative}) {
    int seen = 0;
    for (const Minimum& minimum : golden.minima) {
      if (!penalties.count(minimum.problem)) continue;
      const std::vector<double>& start = golden.starts.at(minimum.problem);
      Logistic logistic(golden, penalties.at(minimum.problem), start, mode);
      EXPECT_EQ(logistic.objective.start(), start);
      auto method = method_of(minimum.method, minimum.tolerance, start);
      std::string text = str(minimum.problem, " ", minimum.method, " ", minimum.tolerance);
      EXPECT_EQ(method->run(logistic.f), BatchStatus::kGradient) << text;
      EXPECT_LE(method->largest_gradient(), minimum.tolerance) << text;
      EXPECT_NEAR(method->value(), minimum.value, 1e-8) << text;
      EXPECT_LE(static_cast<double>(method->evaluations()), 1.2 * minimum.evaluations) << text;
      double bound = minimum.tolerance < 1e-7 ? 2e-6 : 5e-3;
      for (int64_t i = 0; i < 9; ++i) EXPECT_NEAR(method->x()[i], minimum.x.as_double(i), bound) << text << " " << i;
      logistic.objective.set(method->x());
      EXPECT_EQ(logistic.w.get_value().as_double(7), method->x()[7]);
      EXPECT_EQ(logistic.b.get_value().as_double(), method->x()[8]);
      ++seen;
    }
    EXPECT_EQ(seen, 12);
  }
}

TEST(BatchMethods, ReachSciPysMinimumOfQuadraticForms) {
  Golden golden = read_golden();
  int seen = 0;
  for (const Minimum& minimum : golden.minima) {
    if (!golden.quadratics.count(minimum.problem)) continue;
    const std::vector<double>& d = golden.quadratics.at(minimum.problem);
    auto quadratic = [&](std::span<const double> x, std::span<double> gradient) {
      double out = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        out += d[i] * x[i] * x[i] / 2 - x[i];
        gradient[i] = d[i] * x[i] - 1;
      }
      return out;
    };
    auto method = method_of(minimum.method, minimum.tolerance, golden.starts.at(minimum.problem));
    std::string text = str(minimum.problem, " ", minimum.method, " ", minimum.tolerance);
    EXPECT_EQ(method->run(quadratic), BatchStatus::kGradient) << text;
    EXPECT_NEAR(method->value(), minimum.value, 1e-8) << text;
    EXPECT_LE(static_cast<double>(method->evaluations()), 1.2 * minimum.evaluations) << text;
    ++seen;
  }
  EXPECT_EQ(seen, 10);
}

// Not convex, and from some starts a little change of a step doubles or halves the way: the sums over the starts are
// what is compared.
TEST(BatchMethods, ReachRosenbrocksMinimumWithSciPysEvaluations) {
  Golden golden = read_golden();
  for (const char* name : {"conjugate_gradient", "lbfgs"}) {
    for (double tolerance : {1e-5, 1e-8}) {
      double ours = 0, theirs = 0;
      for (const Minimum& minimum : golden.minima) {
        if (!minimum.problem.starts_with("rosenbrock") || minimum.method != name || minimum.tolerance != tolerance)
          continue;
        auto method = method_of(name, tolerance, golden.starts.at(minimum.problem));
        EXPECT_EQ(method->run(rosenbrock), BatchStatus::kGradient) << name << " " << minimum.problem;
        EXPECT_NEAR(method->value(), minimum.value, 1e-8) << name << " " << minimum.problem;
        ours += static_cast<double>(method->evaluations()), theirs += minimum.evaluations;
      }
      EXPECT_GT(theirs, 100);
      EXPECT_LE(ours, 1.2 * theirs) << name << " " << tolerance;
    }
  }
}

// Every iteration's step is one of the strong Wolfe conditions.
TEST(LineSearch, FindsStrongWolfeSteps) {
  struct Row {
    std::function<double(double)> f, slope;
  };
  std::vector<Row> rows = {
      {[](double a) { return (a - 3) * (a - 3); }, [](double a) { return 2 * (a - 3); }},
      {[](double a) { return -a / (a * a + 2); }, [](double a) { return (a * a - 2) / ((a * a + 2) * (a * a + 2)); }},
      {[](double a) { return std::pow(a, 4) - 8 * a; }, [](double a) { return 4 * std::pow(a, 3) - 8; }},
      {[](double a) { return std::exp(3 * a) - 20 * a; }, [](double a) { return 3 * std::exp(3 * a) - 20; }},
      // Not defined from 2 on.
      {[](double a) { return a < 2 ? -std::log(2 - a) - 3 * a : std::nan(""); },
       [](double a) { return 1 / (2 - a) - 3; }},
      {[](double a) { return 5 + std::sin(5 * a) - 6 * a + a * a; },
       [](double a) { return 5 * std::cos(5 * a) - 6 + 2 * a; }}};
  for (double curvature : {0.9, 0.4, 0.1, 0.01})
    for (double first : {1e-3, 0.1, 1.0, 10.0, 1e3})
      for (size_t row = 0; row < rows.size(); ++row) {
        int count = 0;
        auto at = [&](double a) {
          ++count;
          return LinePoint{.a = a, .value = rows[row].f(a), .slope = rows[row].slope(a)};
        };
        LinePoint start{.a = 0, .value = rows[row].f(0), .slope = rows[row].slope(0)};
        LineSearchResult found = search_line(at, start, first, {.curvature = curvature});
        std::string text = str("row ", row, ", first ", first, ", c2 ", curvature);
        EXPECT_TRUE(found.good) << text;
        EXPECT_LE(found.point.value, start.value + 1e-4 * found.point.a * start.slope + 1e-14) << text;
        EXPECT_LE(std::abs(found.point.slope), -curvature * start.slope) << text;
        EXPECT_LE(count, 25) << text;
      }
}

TEST(LineSearch, SaysWhereThereIsNoSuchStep) {
  int count = 0;
  auto at = [&](double a) {
    ++count;
    return LinePoint{.a = a, .value = -a, .slope = -1};
  };
  LineSearchResult falling = search_line(at, {.a = 0, .value = 0, .slope = -1}, 1, {.evaluations = 12});
  EXPECT_FALSE(falling.good);
  EXPECT_LT(falling.point.value, 0);
  EXPECT_EQ(count, 12);
  auto rising = [](double a) { return LinePoint{.a = a, .value = a, .slope = 1}; };
  LineSearchResult wrong = search_line(rising, {.a = 0, .value = 0, .slope = -1}, 1, {});
  EXPECT_FALSE(wrong.good);
  EXPECT_LT(wrong.point.a, 1e-6);
}

// What is not accepted is only a point on the way; without an accepted one, the best of them is given.
TEST(LineSearch, GoesOnUntilAPointIsAccepted) {
  auto at = [](double a) { return LinePoint{.a = a, .value = (a - 3) * (a - 3), .slope = 2 * (a - 3)}; };
  const LinePoint start = at(0);
  EXPECT_EQ(search_line(at, start, 2.5, {}).point.a, 2.5);
  int asked = 0;
  LineSearchResult second = search_line(at, start, 2.5, {.accepts = [&] { return ++asked == 2; }});
  EXPECT_TRUE(second.good);
  EXPECT_NEAR(second.point.a, 3, 1e-12);
  EXPECT_EQ(asked, 2);
  LineSearchResult never = search_line(at, start, 2.5, {.accepts = [] { return false; }});
  EXPECT_TRUE(never.good);
  EXPECT_NEAR(never.point.a, 3, 1e-6);
}

TEST(BatchMethods, GoOnFromTheirState) {
  std::vector<double> start = {-1.2, 1, 0.3};
  for (const char* name : {"conjugate_gradient", "lbfgs"}) {
    auto whole = method_of(name, 1e-8, start), first = method_of(name, 1e-8, start),
         second = method_of(name, 1e-8, start);
    whole->run(rosenbrock);
    first->run(rosenbrock, 17);
    EXPECT_EQ(first->iterations(), 17);
    EXPECT_EQ(first->status(), BatchStatus::kRunning);
    for (size_t i = 0; i < first->state().size(); ++i)
      second->state()[i].second.set_value(first->state()[i].second.get_value());
    second->run(rosenbrock);
    EXPECT_EQ(second->evaluations(), whole->evaluations()) << name;
    for (size_t i = 0; i < whole->state().size(); ++i)
      EXPECT_TRUE(same_bits(second->state()[i].second.get_value(), whole->state()[i].second.get_value()))
          << name << " " << whole->state()[i].first;
  }
}

TEST(BatchMethods, EndWhereFloat64EndsOrTheValueStays) {
  std::vector<double> start = {-1.2, 1};
  for (const char* name : {"conjugate_gradient", "lbfgs"}) {
    auto exact = method_of(name, 0, start);
    BatchStatus status = exact->run(rosenbrock);
    EXPECT_TRUE(status == BatchStatus::kLineSearch || status == BatchStatus::kGradient) << name;
    EXPECT_LT(exact->value(), 1e-20);
    EXPECT_EQ(exact->iterate(rosenbrock), status);  // and stays there
  }
  Lbfgs early({.gradient_tolerance = 0, .value_tolerance = 1e-3}, start);
  EXPECT_EQ(early.run(rosenbrock), BatchStatus::kValue);
  ConjugateGradient at_minimum({}, std::vector<double>{1, 1});
  EXPECT_EQ(at_minimum.run(rosenbrock), BatchStatus::kGradient);
  EXPECT_EQ(at_minimum.evaluations(), 1);
  EXPECT_EQ(at_minimum.iterations(), 0);
}

// No step satisfies the conditions at a kink; what is kept is the best point, with its value and gradient.
TEST(BatchMethods, KeepValueAndGradientOfTheirPoint) {
  auto kink = [](std::span<const double> x, std::span<double> gradient) {
    gradient[0] = x[0] < 0.3 ? -1 : 2;
    return std::abs(x[0] - 0.3) * (x[0] < 0.3 ? 1 : 2);
  };
  for (const char* name : {"conjugate_gradient", "lbfgs"})
    for (double from : {-3.0, 0.1, 2.5}) {
      auto method = method_of(name, 1e-5, std::vector<double>{from});
      for (int i = 0; i < 5; ++i) {
        method->iterate(kink);
        double gradient = 0;
        EXPECT_EQ(method->value(), kink(method->x(), std::span(&gradient, 1))) << name << " " << from;
        EXPECT_EQ(method->gradient()[0], gradient) << name << " " << from << " iteration " << i;
      }
      EXPECT_EQ(method->status(), BatchStatus::kLineSearch);
      EXPECT_LT(method->value(), 1e-6) << name << " " << from;
    }
}

TEST(BatchMethods, BadOptionsAndFunctionsGiveOneMessage) {
  std::vector<double> start = {1, 2};
  EXPECT_EQ(text_without_node([&] { ConjugateGradient({.gradient_tolerance = -1}, start); }),
            "error: conjugate_gradient: gradient_tolerance is out of range\n  expected: a number, at least 0\n  got:   "
            "   -1.0\n  hint:     gradient_tolerance: ends where the largest element of the gradient is at most this");
  EXPECT_EQ(text_without_node([&] { Lbfgs({.memory = 0}, start); }),
            "error: lbfgs: memory is out of range\n  expected: an integer from 1 to 1000 (iterations)\n  got:      0\n "
            " hint:     memory: iterations whose steps and changes of the gradient are remembered");
  auto nowhere = [](std::span<const double>, std::span<double> gradient) {
    gradient[0] = gradient[1] = 1;
    return std::nan("");
  };
  Lbfgs method({}, start);
  EXPECT_EQ(text_without_node([&] { method.run(nowhere); }),
            "error: the function or its gradient is not finite where the minimization starts\n  expected: finite "
            "numbers\n  got:      value nan, largest element of the gradient 1");
}

// float32 parameters: as far as their rounding lets the gradient fall.
TEST(BatchObjective, HasParametersOfAnyFloatingDType) {
  Shared w(Tensor::matrix({{1.0f, 2.0f}, {3.0f, 4.0f}}), "w");
  Shared b(Tensor::vector({0.5}), "b");
  Expr target = make_constant(Tensor::matrix({{2.0f, 0.0f}, {-1.0f, 0.5f}}));
  BatchObjective objective({{"w", w}, {"b", b}}, cast(sum(sqr(w - target)), DType::kFloat64) + sum(sqr(b.expr())), {},
                           {.mode = Mode::kReference});
  EXPECT_EQ(objective.start(), (std::vector<double>{1, 2, 3, 4, 0.5}));
  Lbfgs method({.gradient_tolerance = 1e-5}, objective.start());
  EXPECT_EQ(method.run(objective.at({})), BatchStatus::kGradient);
  objective.set(method.x());
  EXPECT_NEAR(w.get_value().as_double(2), -1, 1e-5);
  EXPECT_NEAR(b.get_value().as_double(), 0, 1e-5);
}

}  // namespace
}  // namespace thtrain
