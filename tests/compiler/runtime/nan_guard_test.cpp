// Mode::kNanGuard stops at the first bad value and names what made it.
#include "compiler/runtime/nan_guard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::nan_guard_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Function guarded(const std::vector<In>& inputs, const std::vector<Out>& outputs,
                 const std::vector<Update>& updates = {}, const BadValues& bad = {.above = 1e10}) {
  return function(inputs, outputs, updates, {.mode = Mode::kNanGuard, .name = "f", .nan_guard = bad});
}

TEST(NanGuard, NamesTheExpressionInsideAFusedLoopItsLineAndTheCall) {
  const Expr x = vector("x"), y = vector("y");
  const int built = __LINE__ + 1;
  const Expr inner = log(x);
  Function f = guarded({x, y}, {sum(inner * y) + 1.0});
  EXPECT_EQ(f({Tensor::vector({1.0, 1.0}), Tensor::vector({1.0, 2.0})})[0].as_double(), 1);
  const int called = __LINE__ + 2;
  try {
    f({Tensor::vector({1.0, 0.0}), Tensor::vector({1.0, 2.0})});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), str("error: f: the first infinity is made by step 0 (fused_reduction)\n"
                                             "  expected: finite values up to 1e+10 of log(x)\n"
                                             "  got:      -inf at [1] of float64[2]\n"
                                             "            made of x float64[2], y float64[2], which are finite\n"
                                             "  node:     built at ",
                                             __FILE__, ":", built, "; f is called at ", __FILE__, ":", called));
  }
}

TEST(NanGuard, SaysWhichArgumentsWereBad) {
  const Expr x = matrix("x"), w = matrix("w");
  Function f = guarded({x, w}, {dot(x, w)});
  const Tensor one = Tensor::matrix({{1.0}, {2.0}});
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::matrix({{1.0, std::nan("")}}), one});
            }),
            "error: f: the first NaN is made by step 0 (dot)\n"
            "  expected: finite values up to 1e+10 of dot(x, w)\n"
            "  got:      nan at [0, 0] of float64[1, 1]\n"
            "            made of x float64[1, 2] with nan, and of w float64[2, 1], which is finite");
}

TEST(NanGuard, NamesTheIterationsOfTheLoopsAroundTheStep) {
  const Expr x = matrix("x");
  const auto roots = scan(
      [](Expr row) {
        return reduce([](Expr element, Expr state) { return sqrt(state - element); },
                      {.sequences = {row}, .outputs_info = {make_constant(2.0)}, .name = "columns"})
            .outputs;
      },
      {.sequences = {x}, .name = "rows"});
  Function f = guarded({x}, {roots.outputs});
  EXPECT_EQ(f({Tensor::matrix({{1.0, -3.0}})})[0].text(), "[2]");
  const std::string text = text_without_node([&] {
    f({Tensor::matrix({{1.0, -3.0, 0.0}, {1.0, 0.5, 0.0}, {1.0, 0.5, 3.0}})});
  });
  EXPECT_TRUE(text.starts_with("error: f: the first NaN is made by step ")) << text;
  EXPECT_NE(text.find(", in iteration 2 of scan rows, iteration 2 of scan columns (counted from 0)\n"
                      "  expected: finite values up to 1e+10 of sqrt("),
            std::string::npos)
      << text;
}

TEST(NanGuard, ArgumentsThatAStepWritesOverAreShownAsTheyWere) {
  const Shared w(Tensor::vector({1.0, 0.0}), "w");
  Function f = guarded({}, {}, {{w, log(w) * 2.0}});
  EXPECT_EQ(text_without_node([&] { f({}); }),
            "error: f: the first infinity is made by step 0 (fused)\n"
            "  expected: finite values up to 1e+10 of log(w)\n"
            "  got:      -inf at [1] of float64[2]\n"
            "            made of w float64[2], which is finite\n"
            "  hint:     shared variables that this call updates may have changed already");
}

TEST(NanGuard, LooksForWhatItIsTold) {
  const Expr x = vector("x");
  const Tensor all = Tensor::vector({1e11, kInfinity, std::nan("")});
  auto said = [&](const BadValues& bad) {
    const std::string text = text_without_node([&] { guarded({x}, {x * 2.0}, {}, bad)({all}); });
    return text.substr(0, text.find(" is made"));
  };
  EXPECT_EQ(said({.above = 1e10}), "error: f: the first number that is too large");
  EXPECT_EQ(said({}), "error: f: the first infinity");
  EXPECT_EQ(said({.infinity = false}), "error: f: the first NaN");
  EXPECT_EQ(said({.nan = false, .infinity = false}), "no error");
  EXPECT_EQ(said({.nan = false, .infinity = false, .above = 1e12}), "no error");
}

TEST(NanGuard, InAnExpressionThatMakesSeveralTheFirstIsNamed) {
  const Expr x = vector("x");
  Function f = guarded({x}, {exp(x) - exp(x * 2.0)});
  const std::string text = text_without_node([&] { f({Tensor::vector({0.0, 1000.0})}); });
  EXPECT_TRUE(
      text.starts_with("error: f: the first infinity is made by step 0 (fused)\n"
                       "  expected: finite values up to 1e+10 of exp("))
      << text;
}

TEST(NanGuard, LooksAtBothPartsOfComplexNumbers) {
  const Expr z = tensor("z", {"n"}, DType::kComplex128);
  Function f = guarded({z}, {z * 2.0});
  const Tensor bad = Tensor::vector<std::complex<double>>({{1, 2}, {3, std::nan("")}});
  const std::string text = text_without_node([&] { f({bad}); });
  EXPECT_TRUE(text.starts_with("error: f: the first NaN is made by step 0 ")) << text;
}

TEST(NanGuard, SaysThatAValueBelongsToADerivative) {
  const Expr x = vector("x");
  Function f = guarded({x}, {grad(sum(sqrt(x)), x)});
  try {
    f({Tensor::vector({1.0, 0.0})});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(" (its gradient); f is called at "), std::string::npos) << error.what();
  }
}

// Arguments, constants and integers may be anything; what is computed of them may not.
TEST(NanGuard, LooksAtWhatStepsCompute) {
  const Expr x = vector("x"), i = ivector("i");
  Function f = guarded({x, i}, {maximum(x, make_constant(-kInfinity)), i * 1000000, isnan(x)});
  EXPECT_EQ(f({Tensor::vector({1.0}), Tensor::vector<int64_t>({1000000})})[1].text(), "[1000000000000]");
  Function g = guarded({x}, {where(x < 0, x, 1.0)});
  EXPECT_EQ(g({Tensor::vector({kInfinity, -2.0})})[0].text(), "[1, -2]");
}

// What is named, and its element.
struct Named {
  Expr (*build)(const Expr& x);
  std::vector<double> x;
  std::string text;
};

TEST(NanGuard, NamesNoArgumentAndNoConstant) {
  const std::vector<Named> cases{
      {[](const Expr& x) { return log(x - 1e12); }, {2e12, 1e12}, "log(sub(x, 1e+12))\n-inf at [1] of float64[2]"},
      {[](const Expr& x) { return exp(-x) * (1.0 / x); },
       {kInfinity, 0},
       "true_div(exp(neg(x)), x)\ninf at [1] of float64[2]"},
      {[](const Expr& x) { return where(isnan(x), 0.0, log(x)); },
       {std::nan(""), 0},
       "log(x)\n-inf at [1] of float64[2]"},
      {[](const Expr& x) { return where(x < 0., log(x), exp(x)); }, {1, 1000}, "exp(x)\ninf at [1] of float64[2]"},
      {[](const Expr& x) { return log(maximum(where(x > 5., x, -1e30), 0.)); },
       {6, 1},
       "log(maximum(switch(gt(x, 5), x, -1e+30), 0))\n-inf at [1] of float64[2]"},
      {[](const Expr& x) { return log(where(x > 5., x, -1e30)); },
       {6, 1},
       "log(switch(gt(x, 5), x, -1e+30))\nnan at [1] of float64[2]"},
      {[](const Expr& x) { return x * 1e11; }, {1}, "mul(x, 1e+11)\n1e+11 at [0] of float64[1]"},
      {[](const Expr& x) { return exp(abs(x)); }, {1, -1e11}, "exp(abs(x))\ninf at [1] of float64[2]"},
      {[](const Expr& x) { return sum(log(x)); }, {1e12, 0}, "log(x)\n-inf at [1] of float64[2]"}};
  for (const Named& c : cases) {
    const Expr x = vector("x");
    Function f = guarded({x}, {c.build(x)});
    const std::string text = text_without_node([&] { f({Tensor::of(c.x, {static_cast<int64_t>(c.x.size())})}); });
    const std::string of = " up to 1e+10 of ", got = "\n  got:      ";
    const size_t begin = text.find(of), middle = text.find(got);
    ASSERT_NE(middle, std::string::npos) << text;
    const size_t end = text.find('\n', middle + 1);
    EXPECT_EQ(text.substr(begin + of.size(), middle - begin - of.size()) + "\n" +
                  text.substr(middle + got.size(), end - middle - got.size()),
              c.text);
  }
}

// Row 0 has an infinity that its maximum leaves out.
TEST(NanGuard, LooksInTheRowOfABadElement) {
  const Expr x = matrix("x");
  Function f = guarded({x}, {max(log(x), 1) + 1.0});
  const std::string text = text_without_node([&] { f({Tensor::matrix({{0.0, 1.0}, {1.0, -1.0}})}); });
  EXPECT_NE(text.find(" of log(x)\n  got:      nan at [1, 1] of "), std::string::npos) << text;
}

TEST(Function, NumbersOfItsOptionsAreChecked) {
  const Expr x = vector("x");
  auto text = [&](const FunctionOptions& options) {
    return text_without_node([&] { function({x}, {x + 1.0}, {}, options); });
  };
  EXPECT_EQ(text({.threads = -3}),
            "error: function: the option threads is out of range\n"
            "  expected: an integer, at least 0 (0: OMP_NUM_THREADS, or all cores)\n"
            "  got:      -3");
  for (const auto& [value, got] : {std::pair{-1.0, "-1"}, std::pair{std::nan(""), "nan"}}) {
    EXPECT_EQ(text({.nan_guard = {.above = value}}),
              str("error: function: the option nan_guard.above is out of range\n"
                  "  expected: a number, at least 0 (infinity: none is too large)\n"
                  "  got:      ",
                  got));
    EXPECT_EQ(text({.conv_tolerance = value}), str("error: function: the option conv_tolerance is out of range\n"
                                                   "  expected: a number, at least 0\n"
                                                   "  got:      ",
                                                   got));
  }
}

TEST(NanGuard, HasTheBitsOfNativeCodeAndGoesWithAProfile) {
  RandomState random(int64_t{1});
  auto drawn = [&](Shape shape) {
    return Tensor::of(random.uniform(-0.5, 0.5, static_cast<size_t>(element_count(shape))), shape);
  };
  const Tensor first = drawn({7, 5}), data = drawn({4, 7}), labels = Tensor::vector<int64_t>({0, 2, 1, 1});
  auto trained = [&](Mode mode) {
    const Shared w(first, "w");
    const Expr x = matrix("x"), y = ivector("y");
    const Expr cost = -mean(pick_rows(log(softmax(tanh(dot(x, w)))), y));
    Function step = function({x, y}, {cost}, {{w, w - 0.1 * grad(cost, w)}}, {.mode = mode});
    Function copy(step);
    copy({data, labels});
    if (mode == Mode::kNanGuard) step.start_profile();
    for (int i = 0; i < 3; ++i) step({data, labels});
    if (mode == Mode::kNanGuard) {
      EXPECT_EQ(step.profile().calls, 3);
    }
    return w.get_value();
  };
  EXPECT_TRUE(same_bits(trained(Mode::kNative), trained(Mode::kNanGuard)));
}

}  // namespace
}  // namespace thtrain::nan_guard_test
