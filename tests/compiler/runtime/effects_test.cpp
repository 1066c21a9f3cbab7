// Prints: which belong to a function, that none is dropped or merged, and their order, in every mode and at every
// level.
#include <gtest/gtest.h>

#include <random>

#include "compiler/api.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/ir/parse.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

using Make = std::function<Function(const FunctionOptions&)>;

// What two calls of the function print. Both must print the same.
std::string printed(const Make& make, const FunctionOptions& options, const std::vector<Tensor>& inputs) {
  Function f = make(options);
  std::string shown[2];
  for (std::string& text : shown) {
    testing::internal::CaptureStderr();
    f(inputs);
    text = testing::internal::GetCapturedStderr();
  }
  EXPECT_EQ(shown[0], shown[1]);
  EXPECT_EQ(f.is_native(), options.mode != Mode::kReference);
  return shown[0];
}

void expect_prints(const Make& make, const std::vector<Tensor>& inputs, const std::string& expected) {
  EXPECT_EQ(printed(make, {.mode = Mode::kReference}, inputs), expected) << "reference";
  EXPECT_EQ(printed(make, {.mode = Mode::kDebug}, inputs), expected) << "debug";
  for (Level level : {Level::kStrict, Level::kStandard, Level::kFast})
    EXPECT_EQ(printed(make, {.level = level}, inputs), expected) << "native, level " << static_cast<int>(level);
}

Make of(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Expr>& effects = {}) {
  return [=](FunctionOptions options) {
    options.effects = effects;
    return function(inputs, outputs, {}, options);
  };
}

const Tensor kTwo = Tensor::vector({1.0, 2.0});

TEST(Effects, APrintThatIsListedBelongsToTheFunction) {
  Expr x = vector("x", {2});
  expect_prints(of({x}, {x + 1}, {print(x, "seen")}), {kTwo}, "seen: float64[2] [1, 2]\n");
}

TEST(Effects, APrintThatIsNeitherNeededNorListedDoesNot) {
  Expr x = vector("x", {2}), unread = print(x, "unread");
  expect_prints(of({x}, {x + 1}), {kTwo}, "");
}

TEST(Effects, APrintIsThereWhereRewritingNeedsItsValueNoMore) {
  Expr x = vector("x", {2});
  Expr zeros = 0 * print(x, "times zero");
  Expr same = print(x, "less itself");
  Expr dead = switch_(make_constant(Tensor(true)), x, print(x * x, "not taken"));
  Expr gone = sum(print(zeros_like(x), "of zeros")) * 0;
  expect_prints(of({x}, {zeros, same - same, dead, gone}), {kTwo},
                "times zero: float64[2] [1, 2]\n"
                "less itself: float64[2] [1, 2]\n"
                "not taken: float64[2] [1, 4]\n"
                "of zeros: float64[2] [0, 0]\n");
}

TEST(Effects, AGradientThroughAPrintPrintsOnce) {
  Expr x = vector("x", {2}), y = print(x * x, "square"), cost = sum(y * y);
  Make both = of({x}, {cost, grad(cost, x)});
  expect_prints(both, {kTwo}, "square: float64[2] [1, 4]\n");
  EXPECT_EQ(both({})({kTwo})[1].text(), "[4, 32]");
  expect_prints(of({x}, {grad(cost, x)}), {kTwo}, "square: float64[2] [1, 4]\n");
}

TEST(Effects, EqualPrintsAreNotMerged) {
  Expr x = vector("x", {2});
  Expr a = print(x, "same"), b = print(x, "same");
  expect_prints(of({x}, {a + b, a - b}), {kTwo}, "same: float64[2] [1, 2]\nsame: float64[2] [1, 2]\n");
  // Also where the graph is rebuilt before the first pass.
  expect_prints(
      [&](FunctionOptions options) {
        options.givens = {{x, x * 1}};
        return function({x}, {a + b}, {}, options);
      },
      {kTwo}, "same: float64[2] [1, 2]\nsame: float64[2] [1, 2]\n");
}

TEST(Effects, PrintsComeInTheOrderOfConstruction) {
  Expr x = vector("x", {2});
  Expr first = print(x, "first"), second = print(exp(x * 0), "second"), third = print(first + second, "third"),
       fourth = print(x, "fourth");
  expect_prints(of({x}, {fourth, third * 2, second}, {first}), {kTwo},
                "first: float64[2] [1, 2]\n"
                "second: float64[2] [1, 1]\n"
                "third: float64[2] [2, 3]\n"
                "fourth: float64[2] [1, 2]\n");
}

TEST(Effects, APrintOfAConstantIsNotFolded) {
  Expr x = vector("x", {2}), two = make_constant(Tensor(2.0));
  expect_prints(of({x}, {x * print(two + 1, "constant")}), {kTwo}, "constant: float64[] 3\n");
}

TEST(Effects, APrintOfAnUpdateShowsTheOldValueOfAVariable) {
  Shared w(kTwo, "w"), v(kTwo, "v");
  Expr old = print(w.expr(), "old w"), step = print(old * 2, "new w");
  Function f = function({}, {}, {{w, step}, {v, v.expr() + 0 * print(w.expr(), "old w again")}});
  testing::internal::CaptureStderr();
  f({});
  f({});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "old w: float64[2] [1, 2]\nnew w: float64[2] [2, 4]\nold w again: float64[2] [1, 2]\n"
            "old w: float64[2] [2, 4]\nnew w: float64[2] [4, 8]\nold w again: float64[2] [2, 4]\n");
  EXPECT_EQ(w.get_value().text(), "[4, 8]");
}

TEST(Effects, ANameMakesNoSecondPrint) {
  Expr x = vector("x", {2}), y = print(x, "once");
  expect_prints(of({x}, {named(y, "y") + y, y}, {named(y, "z")}), {kTwo}, "once: float64[2] [1, 2]\n");
}

TEST(Effects, GivensKeepTheOrderOfConstruction) {
  Shared w(Tensor(0.0), "w");
  Expr x = vector("x", {2}), z = vector("z", {2});
  Expr a = print(x + 1, "a"), b = print(z, "b"), c = print(x + 2, "c"), later = print(z * 10, "built last");
  // What a and c need comes before them, although it was built after them.
  auto replaced = [&](const Expr& by) {
    return [&, by](FunctionOptions options) {
      options.givens = {{x, by}};
      return function({z}, {c, b}, {{w, sum(a) * 0}}, options);
    };
  };
  expect_prints(replaced(z), {kTwo}, "a: float64[2] [2, 3]\nb: float64[2] [1, 2]\nc: float64[2] [3, 4]\n");
  expect_prints(replaced(later), {kTwo},
                "built last: float64[2] [10, 20]\na: float64[2] [11, 21]\nb: float64[2] [1, 2]\n"
                "c: float64[2] [12, 22]\n");
}

TEST(Effects, AValueUnderOutputsAndUpdatesIsPrintedOnceWithGivensToo) {
  Shared w(kTwo, "w");
  Expr x = vector("x", {2}), y = print(x * 3, "y");
  expect_prints(
      [&](FunctionOptions options) {
        options.givens = {{x, w.expr() * 0 + 1}};
        return function({}, {y + 1}, {{w, y}}, options);
      },
      {}, "y: float64[2] [3, 3]\n");
}

TEST(Effects, ErrorsOfTheList) {
  Expr x = vector("x", {2}), z = vector("z", {2}), y = print(x, "y");
  EXPECT_EQ(text_without_node([&] { function({x}, {x}, {}, {.effects = {y * 2}}); }),
            "error: function: a value is listed in effects and has none\n"
            "  expected: the result of print, or of an op with a print in its body\n"
            "  got:      mul float64[2]\n"
            "  hint:     list y = print(x, ...) itself, not what is computed from it");
  EXPECT_EQ(text_without_node([&] { function({x}, {x}, {}, {.effects = {x}}); }),
            "error: function: a value is listed in effects and has none\n"
            "  expected: the result of print, or of an op with a print in its body\n"
            "  got:      x float64[2]\n"
            "  hint:     list y = print(x, ...) itself, not what is computed from it");
  EXPECT_EQ(text_without_node([&] { function({x}, {x}, {}, {.effects = {Expr()}}); }),
            "error: function: an effect is an empty expression\n"
            "  expected: an expression that was built before\n"
            "  got:      Expr(), which has no value\n"
            "  hint:     Expr::has_value() tells whether there is one");
  EXPECT_EQ(text_without_node([&] { function({x}, {x}, {}, {.effects = {print(z, "z")}}); }),
            "error: function: an output needs z, which is not among the inputs\n"
            "  got:      z float64[2]\n"
            "  hint:     list it as an input, or replace it through givens");
}

TEST(Effects, APrintAboveAMaskIsPrintedOnceInEveryMode) {
  Expr x = vector("x", {2});
  Expr shown = print(x, "x");
  expect_prints(of({x}, {shown[gt(shown, 1)]}), {kTwo}, "x: float64[2] [1, 2]\n");
}

// ---- bodies --------------------------------------------------------------------------------------------------------

// x is doubled `iterations` times, and printed before.
Expr doubled(int64_t iterations, const Expr& x, const std::string& label) {
  return repeat(iterations, {x}, [&](const std::vector<Expr>& s) {
    print(s[0], label);
    return std::vector<Expr>{s[0] * 2};
  })[0];
}

TEST(EffectsOfBodies, APrintThatNobodyReadsIsPrintedInEachIteration) {
  Expr x = vector("x", {2});
  Expr before = print(x, "before"), loop = doubled(3, x, "iteration"), after = print(loop, "after");
  Make make = of({x}, {after * 0 + x}, {before});
  expect_prints(make, {kTwo},
                "before: float64[2] [1, 2]\n"
                "iteration: float64[2] [1, 2]\niteration: float64[2] [2, 4]\niteration: float64[2] [4, 8]\n"
                "after: float64[2] [8, 16]\n");
  expect_prints(of({x}, {loop}), {kTwo},
                "iteration: float64[2] [1, 2]\niteration: float64[2] [2, 4]\niteration: float64[2] [4, 8]\n");
  expect_prints(of({x}, {doubled(0, x, "iteration")}), {kTwo}, "");
}

TEST(EffectsOfBodies, ALoopThatIsListedRunsAlthoughNobodyReadsIt) {
  Expr x = vector("x", {2});
  expect_prints(of({x}, {x}, {doubled(2, x, "iteration")}), {kTwo},
                "iteration: float64[2] [1, 2]\niteration: float64[2] [2, 4]\n");
  expect_prints(of({x}, {0 * doubled(1, x, "iteration")}), {kTwo}, "iteration: float64[2] [1, 2]\n");
}

TEST(EffectsOfBodies, PrintsOfAnIterationComeInOrderAndEqualOnesStayTwo) {
  Expr x = vector("x", {2});
  Expr loop = repeat(2, {x, x}, [&](const std::vector<Expr>& s) {
    Expr a = print(s[0], "a"), b = print(s[1], "b"), again = print(s[0], "a"), used = print(x + a, "used");
    return std::vector<Expr>{used, s[1] * 0};
  })[0];
  expect_prints(of({x}, {loop}), {kTwo},
                "a: float64[2] [1, 2]\nb: float64[2] [1, 2]\na: float64[2] [1, 2]\nused: float64[2] [2, 4]\n"
                "a: float64[2] [2, 4]\nb: float64[2] [0, 0]\na: float64[2] [2, 4]\nused: float64[2] [3, 6]\n");
}

TEST(EffectsOfBodies, EqualLoopsAreNotMerged) {
  Expr x = vector("x", {2});
  expect_prints(of({x}, {doubled(1, x, "iteration") + doubled(1, x, "iteration")}), {kTwo},
                "iteration: float64[2] [1, 2]\niteration: float64[2] [1, 2]\n");
}

TEST(EffectsOfBodies, APrintBelongsToTheInnermostBody) {
  Expr x = vector("x", {2});
  Expr loop = repeat(2, {x}, [&](const std::vector<Expr>& s) {
    print(s[0], "outer");
    doubled(2, s[0], "inner");
    Expr next = print(s[0] + 1, "next");
    return std::vector<Expr>{next};
  })[0];
  expect_prints(
      of({x}, {loop}), {kTwo},
      "outer: float64[2] [1, 2]\ninner: float64[2] [1, 2]\ninner: float64[2] [2, 4]\nnext: float64[2] [2, 3]\n"
      "outer: float64[2] [2, 3]\ninner: float64[2] [2, 3]\ninner: float64[2] [4, 6]\nnext: float64[2] [3, 4]\n");
}

TEST(EffectsOfBodies, IterationsThatADerivativeRunsAgainPrintNothing) {
  Expr x = vector("x", {2});
  Expr loop =
      repeat(3, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{print(s[0], "iteration") * s[0]}; })[0];
  Expr cost = sum(loop);
  Make make = of({x}, {cost, grad(cost, x)});
  const Tensor ones = Tensor::vector({1.0, 1.0});
  expect_prints(make, {ones},
                "iteration: float64[2] [1, 1]\niteration: float64[2] [1, 1]\niteration: float64[2] [1, 1]\n");
  EXPECT_EQ(make({.mode = Mode::kReference})({ones})[1].text(), "[8, 8]");
}

TEST(EffectsOfBodies, TheSideOfABranchThatIsTakenPrints) {
  Expr x = vector("x", {2}), c = make_input({.dtype = DType::kBool}, "c");
  auto printing = [&] {
    print(x, "then");
    return x + 1;
  };
  auto silent = [&] { return x * 2; };
  Expr one = if_else(c, printing, silent), other = if_else(c, silent, printing), last = print(x, "last");
  expect_prints(of({c, x}, {other, 0 * one, last}), {Tensor(true), kTwo},
                "then: float64[2] [1, 2]\nlast: float64[2] [1, 2]\n");
  expect_prints(of({c, x}, {if_else(c, printing, printing) + one, last}), {Tensor(false), kTwo},
                "last: float64[2] [1, 2]\nthen: float64[2] [1, 2]\n");
}

TEST(EffectsOfBodies, AGradientOfABranchPrintsNothingASecondTime) {
  Expr x = vector("x", {2});
  Expr y = if_else(
      gt(sum(x), 0), [&] { return sqr(print(x, "then")); }, [&] { return print(x, "else"); });
  Make make = of({x}, {y, grad(sum(y), x)});
  expect_prints(make, {kTwo}, "then: float64[2] [1, 2]\n");
  EXPECT_EQ(make({.mode = Mode::kReference})({kTwo})[1].text(), "[2, 4]");
}

TEST(EffectsOfBodies, ABranchOfWhichOnlyTheDerivativeIsReadPrints) {
  Expr x = vector("x", {2});
  Expr y = if_else(
      gt(sum(x), 0), [&] { return sqr(print(x, "then")); }, [&] { return print(x, "else"); });
  expect_prints(of({x}, {grad(sum(y), x)}), {kTwo}, "then: float64[2] [1, 2]\n");
  expect_prints(of({x}, {jvp(y, x, x)}), {kTwo}, "then: float64[2] [1, 2]\n");
  expect_prints(of({x}, {grad(sum(grad(sum(y), x)), x)}), {kTwo}, "then: float64[2] [1, 2]\n");
}

TEST(EffectsOfBodies, ATrainingStepPrintsWhatABranchOfTheModelPrints) {
  const Expr x = vector("x", {2});
  const Shared w(Tensor(2.0), "w");
  const Expr cost = if_else(
      gt(sum(x), 0),
      [&] {
        const Expr hidden = print(x * w, "hidden");
        return sum(hidden * hidden);
      },
      [&] { return sum(x); });
  expect_prints(
      [&](const FunctionOptions& options) {
        return function({x}, {}, {{w, w - 0 * grad(cost, w)}}, options);
      },
      {kTwo}, "hidden: float64[2] [2, 4]\n");
}

TEST(EffectsOfBodies, ALoopOfWhichOnlyTheDerivativeIsReadPrints) {
  Expr x = vector("x", {2}), linear = doubled(2, x, "iteration");
  Expr other =
      repeat(2, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{print(s[0], "iteration") * s[0]}; })[0];
  const std::string of_linear = "iteration: float64[2] [1, 2]\niteration: float64[2] [2, 4]\n";
  const std::string of_other = "iteration: float64[2] [1, 2]\niteration: float64[2] [1, 4]\n";
  expect_prints(of({x}, {grad(sum(linear), x)}), {kTwo}, of_linear);
  expect_prints(of({x}, {jvp(linear, x, x)}), {kTwo}, of_linear);
  expect_prints(of({x}, {grad(sum(other), x)}), {kTwo}, of_other);
  expect_prints(of({x}, {jvp(other, x, x)}), {kTwo}, of_other);
}

TEST(EffectsOfBodies, AFunctionThatIsMadeAndCalledInABodyLeavesItAlone) {
  Expr x = vector("x", {2});
  testing::internal::CaptureStderr();
  Expr loop = repeat(1, {x}, [&](const std::vector<Expr>& s) {
    function({x}, {x}, {}, {.mode = Mode::kDebug})({kTwo});
    print(s[0], "iteration");
    return s;
  })[0];
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  expect_prints(of({x}, {loop}), {kTwo}, "iteration: float64[2] [1, 2]\n");
}

// ---- programs ------------------------------------------------------------------------------------------------------

TEST(Effects, AWarmStartPrintsTheSame) {
  auto make = [] {
    Expr x = make_input({.dtype = DType::kFloat64, .dims = {2}}, "x");
    Expr first = print(x, "warm"), loop = doubled(2, x, "iteration");
    return function({x}, {0 * first, loop});
  };
  for (bool from_cache : {false, true}) {
    Function f = make();
    if (from_cache) {
      EXPECT_TRUE(f.info().from_cache);
    }
    testing::internal::CaptureStderr();
    f({kTwo});
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "warm: float64[2] [1, 2]\niteration: float64[2] [1, 2]\niteration: float64[2] [2, 4]\n");
  }
}

TEST(Effects, TheTextOfAFunctionShowsTheTokenAndReadsBack) {
  Expr x = vector("x", {2});
  Expr a = print(x, "a"), loop = doubled(2, x, "iteration");
  Function f = function({x}, {0 * a, loop});
  const std::string text = f.explain().graph;
  EXPECT_EQ(text,
            "input  %0 x : float64[2]\n"
            "%1 = constant() {value=float64[]{0}} : float64[]\n"
            "%2 = start_token() : token\n"
            "%3 = print(%0, %2) {label=\"a\"} : float64[2]; token\n"
            "%4 = mul(%1, %3.0) : float64[2]\n"
            "%5 = scan(%0, %3.1) {count=<2>, sequences=0, states=1, until=false} : float64[2]; float64[3, 2]; token\n"
            "  body\n"
            "    input  %6 state : float64[2]\n"
            "    input  %7 token : token\n"
            "    %8 = constant() {value=float64[]{2}} : float64[]\n"
            "    %9 = mul(%6, %8) : float64[2]\n"
            "    %10 = print(%6, %7) {label=\"iteration\"} : float64[2]; token\n"
            "    output  %9\n"
            "    output  %10.1\n"
            "  end\n"
            "output  %4\n"
            "output  %5.0\n"
            "effect  %5.2\n");
  const Graph back = parse_graph(text, find_op);
  EXPECT_EQ(graph_text(back), text);
  EXPECT_TRUE(same_graph(back, parse_graph(text, find_op)));
  // What was read is in order already: a function of it prints the same.
  expect_prints(of({back.inputs[0]}, {back.outputs[0], back.outputs[1]}), {kTwo},
                "a: float64[2] [1, 2]\niteration: float64[2] [1, 2]\niteration: float64[2] [2, 4]\n");
}

// Sums, products with zero and prints of earlier values at random; the outputs are drawn from all of them.
TEST(Effects, RandomGraphsPrintInOrderInEveryMode) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto draw = [&](size_t n) { return static_cast<size_t>(random() % n); };
    Expr x = vector("x", {2});
    std::vector<Expr> values{x};
    std::vector<Expr> prints, outputs;
    for (int i = 0; i < 24; ++i) {
      const Expr a = values[draw(values.size())], b = values[draw(values.size())];
      switch (draw(4)) {
        case 0:
          values.push_back(a + b);
          break;
        case 1:
          values.push_back(0 * a);
          break;
        case 2:
          values.push_back(doubled(static_cast<int64_t>(draw(3)), a, str("loop ", i)));
          prints.push_back(values.back());
          break;
        default:
          values.push_back(print(a, str("print ", draw(3))));
          prints.push_back(values.back());
      }
    }
    for (int i = 0; i < 3; ++i) outputs.push_back(values[draw(values.size())]);
    const std::vector<Expr> listed{prints[draw(prints.size())]};
    const Make make = of({x}, {outputs[0], outputs[1], outputs[2]}, listed);
    // By the definition: each print that is needed, in the order in which they were built, on its own.
    std::vector<Expr> roots = outputs;
    roots.insert(roots.end(), listed.begin(), listed.end());
    const std::vector<const Node*> order = topological_order(roots);
    std::string expected;
    for (const Expr& effect : prints) {
      if (std::find(order.begin(), order.end(), &effect.node()) == order.end()) continue;
      const bool is_loop = effect.node().op != &print_op();
      std::vector<std::pair<Expr, Expr>> silent;  // all other prints as what they print
      for (const Expr& other : prints)
        if (!other.same(effect)) {
          Expr value = other.node().inputs[0];
          if (other.node().op != &print_op())
            value = value * std::exp2(other.node().props.get<Dims>("count")[0].value());
          silent.emplace_back(other, value);
        }
      std::vector<Expr> alone{effect};
      for (size_t n = 0; n < silent.size(); ++n) alone = substitute(alone, silent);
      ASSERT_TRUE(alone[0].has_value() && (is_loop || alone[0].node().op == &print_op()));
      testing::internal::CaptureStderr();
      evaluate(alone, {{x, kTwo}});
      expected += testing::internal::GetCapturedStderr();
    }
    EXPECT_EQ(printed(make, {.mode = Mode::kReference}, {kTwo}), expected);
    EXPECT_EQ(printed(make, {.mode = Mode::kDebug}, {kTwo}), expected);
    EXPECT_EQ(printed(make, {.level = Level::kFast}, {kTwo}), expected);
  }
}

}  // namespace
}  // namespace thtrain
