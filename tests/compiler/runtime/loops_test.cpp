// Loops and branches run: in native, reference and debug mode, with gradients, and nothing that is not asked for.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/profile.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

TEST(Repeat, IsTheBodyAppliedThatManyTimes) {
  const Expr x = vector("x", {3}), c = vector("c", {3});
  const std::vector<Expr> last = repeat(5, {x, x * 2}, [&](const std::vector<Expr>& s) {
    return std::vector<Expr>{s[1] * c, s[0] - 0.5 * s[1]};
  });
  const std::vector<Tensor> out =
      in_all_modes({x, c}, last, {Tensor::vector({1.0, -2.0, 3.0}), Tensor::vector({0.5, 0.25, -1.5})});
  for (int64_t i = 0; i < 3; ++i) {
    double a = std::vector{1.0, -2.0, 3.0}[static_cast<size_t>(i)], b = 2 * a;
    const double factor = std::vector{0.5, 0.25, -1.5}[static_cast<size_t>(i)];
    for (int iteration = 0; iteration < 5; ++iteration) std::tie(a, b) = std::pair(b * factor, a - 0.5 * b);
    EXPECT_DOUBLE_EQ(out[0].as_double(i), a);
    EXPECT_DOUBLE_EQ(out[1].as_double(i), b);
  }
}

TEST(Repeat, HasTheGradientOfItsIterations) {
  const Expr x = vector("x", {3}), c = vector("c", {3});
  const std::vector<Expr> last = repeat(6, {x, x * 2}, [&](const std::vector<Expr>& s) {
    return std::vector<Expr>{tanh(s[1] * c), s[0] * c - 0.5 * s[1]};
  });
  expect_gradient(sum(sqr(last[0]) + last[1] * last[0]), {x, c},
                  {Tensor::vector({0.3, -0.2, 0.9}), Tensor::vector({0.5, 1.25, -1.5})});
}

TEST(Repeat, HasSecondDerivatives) {
  const Expr x = vector("x", {2}), c = vector("c", {2});
  const Expr last = repeat(4, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{sin(s[0]) * c}; })[0];
  const std::vector<Expr> first = grad(sum(sqr(last)), {x, c});
  expect_gradient(sum(first[0] * first[1]), {x, c}, {Tensor::vector({0.3, -0.2}), Tensor::vector({1.5, 1.25})}, 1e-5);
}

TEST(Repeat, OfProductsHasTheGradientOfEveryIteration) {
  const Expr x = matrix("x"), w = matrix("w");
  const Expr last =
      repeat(3, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{tanh(dot(s[0], w) + x)}; })[0];
  expect_gradient(sum(sqr(last)), {x, w}, {drawn({2, 3}, 1), drawn({3, 3}, 2)});
}

TEST(Repeat, InARepeat) {
  const Expr x = vector("x", {3}), c = vector("c", {3});
  const Expr last = repeat(3, {x}, [&](const std::vector<Expr>& s) {
    const Expr inner =
        repeat(2, {s[0]}, [&](const std::vector<Expr>& t) { return std::vector<Expr>{sin(t[0]) * c + 0.1 * s[0]}; })[0];
    return std::vector<Expr>{inner + 0.5 * s[0]};
  })[0];
  expect_gradient(sum(sqr(last)), {x, c}, {Tensor::vector({0.3, -0.2, 0.9}), Tensor::vector({0.5, 1.25, -1.5})});
}

TEST(Repeat, ItsGradientIsLinearInItsIterations) {
  auto flops = [](int64_t iterations) {
    const Expr x = vector("x", {100});
    const Expr last =
        repeat(iterations, {x}, [](const std::vector<Expr>& s) { return std::vector<Expr>{s[0] * s[0] + 0.5}; })[0];
    Function f = function({x}, {grad(sum(last), x)});
    f.start_profile();
    f({drawn({100}, 1)});
    int64_t calls = 0;
    for (const StepProfile& step : f.profile().steps) calls += step.calls;
    return calls;
  };
  // Steps that run once, and two for each iteration: one forwards, one backwards.
  EXPECT_EQ(flops(40) - flops(20), 40);
  EXPECT_EQ(flops(2000) - flops(1000), 2000);
}

TEST(RepeatUntil, EndsAfterTheIterationThatSaysSo) {
  const Expr x = scalar("x");
  const Repeated out = repeat_until(100, {x}, [](const std::vector<Expr>& s) {
    const Expr next = s[0] * 2;
    return Iteration{{next}, gt(next, 1000)};
  });
  for (double first : {1.0, 3.0, 2000.0, 0.0}) {
    double value = first;
    int64_t iterations = 0;
    do {
      value *= 2;
      ++iterations;
    } while (!(value > 1000) && iterations < 100);
    const std::vector<Tensor> got = in_all_modes({x}, {out.state[0], out.iterations}, {Tensor(first)});
    EXPECT_EQ(got[0].as_double(), value);
    EXPECT_EQ(got[1].as_int(), iterations);
  }
}

TEST(RepeatUntil, TheDebugModeKeepsNothingOfIterationsThatDidNotRun) {
  const Expr x = scalar("x");
  const auto doubled = [](int64_t limit, const Expr& first) {
    return repeat_until(limit, {first}, [&](const std::vector<Expr>& s) {
      return Iteration{{s[0] * 2}, gt(s[0], 500)};
    });
  };
  const int64_t limit = int64_t{1} << 44;  // states of so many iterations fit in no memory
  const Repeated out = doubled(limit, x);
  const Repeated nested = repeat_until(limit, {x}, [&](const std::vector<Expr>& s) {
    return Iteration{{s[0] + doubled(limit, s[0]).state[0]}, gt(s[0], 2000)};
  });
  Function f = function({x}, {out.state[0], out.iterations, nested.state[0]}, {}, {.mode = Mode::kDebug});
  const std::vector<Tensor> got = f({Tensor(3.0)});
  EXPECT_EQ(got[0].as_double(), 1536);
  EXPECT_EQ(got[1].as_int(), 9);
  EXPECT_EQ(got[2].as_double(), 13851);
}

TEST(RepeatUntil, HasTheGradientOfTheIterationsThatRan) {
  const Expr x = vector("x", {2}), c = vector("c", {2});
  const Repeated out = repeat_until(50, {x}, [&](const std::vector<Expr>& s) {
    const Expr next = s[0] * c + sin(s[0]);
    return Iteration{{next}, gt(sum(sqr(next)), 100)};
  });
  expect_gradient(sum(out.state[0] * c), {x, c}, {Tensor::vector({0.3, -0.2}), Tensor::vector({1.5, 1.25})}, 1e-5);
}

TEST(RepeatUntil, ItsGradientRunsNothingForIterationsThatDidNotRun) {
  auto calls = [](int64_t limit) {
    const Expr x = vector("x", {100});
    const Repeated out = repeat_until(limit, {x}, [](const std::vector<Expr>& s) {
      const Expr next = s[0] * s[0];
      return Iteration{{next}, gt(sum(next), 1)};
    });
    Function f = function({x}, {grad(sum(out.state[0]), x)});
    f.start_profile();
    f({Tensor::of(std::vector<double>(100, 3.0), {100})});
    int64_t of_products = 0;
    for (const StepProfile& step : f.profile().steps)
      if (step.flops >= 100) of_products += step.calls;
    return of_products;
  };
  EXPECT_EQ(calls(1000), calls(10));
}

TEST(IfElse, GivesTheSideThatTheConditionNames) {
  const Expr x = vector("x", {3});
  const Expr y = if_else(
      gt(sum(x), 0), [&] { return exp(x); }, [&] { return x * 2; });
  EXPECT_EQ(in_all_modes({x}, {y}, {Tensor::vector({1.0, 2.0, 3.0})})[0].as_double(1), std::exp(2.0));
  EXPECT_EQ(in_all_modes({x}, {y}, {Tensor::vector({1.0, 2.0, -4.0})})[0].as_double(1), 4.0);
}

TEST(IfElse, TheSideThatIsNotTakenRunsNothing) {
  const Expr x = matrix("x", {16, 16}), c = scalar("c");
  const Expr y = if_else(
      gt(c, 0), [&] { return sum(exp(dot(x, x))); }, [&] { return sum(x); });
  Function f = function({x, c}, {y, grad(y, x)});
  for (double condition : {1.0, -1.0}) {
    f.start_profile();
    f({drawn({16, 16}, 1), Tensor(condition)});
    int64_t products = 0;
    for (const StepProfile& step : f.profile().steps)
      if (step.flops >= 2 * 16 * 16 * 16) products += step.calls;
    // The product itself, and in the gradient once more, with two products of its own.
    EXPECT_EQ(products, condition > 0 ? 4 : 0) << condition;
  }
}

TEST(IfElse, HasTheGradientOfTheSideThatIsTaken) {
  const Expr x = vector("x", {3}), c = vector("c", {3});
  const Expr y = if_else(
      gt(sum(x), 0), [&] { return sum(sin(x) * c); }, [&] { return sum(exp(x)); });
  for (double sign : {1.0, -1.0})
    expect_gradient(y * sum(x), {x, c},
                    {Tensor::vector({0.3 * sign, 0.2 * sign, 0.9 * sign}), Tensor::vector({0.5, 1.25, -1.5})});
}

TEST(IfElse, InARepeatInAnIfElse) {
  const Expr x = vector("x", {3}), c = vector("c", {3});
  const Expr y = if_else(
      gt(sum(x), 0),
      [&] {
        return repeat(4, {x}, [&](const std::vector<Expr>& s) {
          return std::vector<Expr>{if_else(
              gt(sum(s[0] * c), 0), [&] { return sin(s[0]) * c; }, [&] { return s[0] - c; })};
        })[0];
      },
      [&] { return x * c; });
  for (double sign : {1.0, -1.0})
    expect_gradient(sum(sqr(y)), {x, c},
                    {Tensor::vector({0.3 * sign, 0.2 * sign, 0.9 * sign}), Tensor::vector({0.5, 1.25, -1.5})});
}

TEST(IfElse, UpdatesAVariableInPlace) {
  Shared w(Tensor::vector({1.0, 2.0}), "w");
  const Expr x = vector("x", {2});
  Function f = function({x}, {},
                        {{w, if_else(
                                 gt(sum(x), 0), [&] { return w.expr() + x; }, [&] { return w.expr(); })}});
  f({Tensor::vector({1.0, 1.0})});
  EXPECT_EQ(w.get_value().text(), "[2, 3]");
  f({Tensor::vector({-1.0, -1.0})});
  EXPECT_EQ(w.get_value().text(), "[2, 3]");
}

TEST(Repeat, AFailingCheckInALoopNamesItsLocation) {
  const Expr x = vector("x", {3}), i = make_input({.dtype = DType::kInt64, .dims = {2}}, "i");
  const Expr last =
      repeat(3, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{s[0] * sum(take(s[0], i))}; })[0];
  Function f = function({x, i}, {last});
  EXPECT_THROW(f({Tensor::vector({1.0, 2.0, 3.0}), Tensor::vector({0, 3})}), UserError);
}

// The value at which a loop has counted so far.
std::vector<Expr> counted(int64_t iterations, const Expr& first,
                          const std::function<Expr(const Expr&, const Expr&)>& next) {
  return repeat(iterations, {first, make_constant(Tensor(int64_t{0}))}, [&](const std::vector<Expr>& s) {
    return std::vector<Expr>{next(s[0], s[1]), s[1] + 1};
  });
}

TEST(Loops, AnIntegerStateIsAnIndex) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr sum_of_squares =
      counted(3, make_constant(Tensor(0.0)), [&](const Expr& s, const Expr& i) { return s + sqr(x[i]); })[0];
  const Tensor values = Tensor::vector({1.0, 2.0, 4.0});
  EXPECT_EQ(in_all_modes({x}, {sum_of_squares}, {values})[0].as_double(), 21);
  expect_gradient(sum_of_squares, {x}, {values});
}

TEST(Loops, AnIntegerStateIsTheStartOfASlice) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr all =
      counted(2, make_constant(Tensor(0.0)), [&](const Expr& s, const Expr& i) { return s + prod(rows(x, i, 2)); })[0];
  const Tensor values = Tensor::vector({1.0, 2.0, 4.0});
  EXPECT_EQ(in_all_modes({x}, {all}, {values})[0].as_double(), 10);
  expect_gradient(all, {x}, {values});
}

TEST(Loops, AnElementThatAStateNumbersIsWritten) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr y =
      counted(3, zeros_like(x), [&](const Expr& s, const Expr& i) { return set_subtensor(s[i], 10 * x[i]); })[0];
  const Tensor out = in_all_modes({x}, {y}, {Tensor::vector({1.0, 2.0, 4.0})})[0];
  EXPECT_EQ(out.text(), "[10, 20, 40]");
  expect_gradient(sum(sqr(y)), {x}, {Tensor::vector({1.0, 2.0, 4.0})}, 1e-5);
}

TEST(Loops, AnIndexBeyondTheAxisIsNamedInEveryMode) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr y = counted(4, make_constant(Tensor(0.0)), [&](const Expr& s, const Expr& i) { return s + x[i]; })[0];
  for (const Mode mode : {Mode::kNative, Mode::kReference}) {
    Function f = function({x}, {y}, {}, {.mode = mode});
    EXPECT_THROW(f({Tensor::vector({1.0, 2.0, 4.0})}), UserError);
  }
}

}  // namespace
}  // namespace thtrain
