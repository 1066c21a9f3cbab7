// The reference part of the guide to scan (theano.scan and its relatives), a test for each paragraph:
//
// | paragraph | test |
// | --- | --- |
// | "the function can see the previous K time-steps of your outputs and L time steps of your inputs" | PastAndFuture |
// | "sum() could be computed by scanning the z+x_i function", reduce, map: special cases | SpecialCases |
// | "the number of iterations to be a part of the symbolic graph" | TheNumberOfStepsIsPartOfTheGraph |
// | map, reduce, foldl, foldr: their arguments | Map, Reduce, FoldlAndFoldr |
// | fn: the order of its arguments | TheOrderOfArguments |
// | fn: shared variables and other values that are not passed | FindsWhatItIsNotGiven |
// | fn: outputs and updates, in any order, or one of them | WhatTheStepFunctionReturns |
// | fn: the condition comes third; a number of steps is still required | TheConditionIsTheLast |
// | sequences: input and taps | SequencesHaveTheTapZero |
// | outputs_info, initial: its shape, and no downcast | InitialValuesAreASplitArray, ScanErrors.InitialValues |
// | outputs_info: partial information | PartialInformation |
// | n_steps | NSteps, NStepsBeyondTheSequences |
// | truncate_gradient, go_backwards | TruncateGradient, GoBackwards |
// | name, mode, profile | TheProfileHasTheNamesOfScans, TheFunctionsModeIsThatOfItsLoops |
// | Returns: outputs, and updates that are validated | ReturnsOutputsAndUpdates |
// | strict (of later versions) | Strict |
//
// The guide's examples are in scan_guide_test.cpp, taps and numbers of steps against plain loops in scan_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

class ScanReference : public testing::Test {
 protected:
  void SetUp() override { set_floatX(DType::kFloat64); }

  static Tensor counted(int64_t n, double first = 0) {
    Tensor out = Tensor::empty(DType::kFloat64, {n});
    for (int64_t i = 0; i < n; ++i) out.data<double>()[i] = first + static_cast<double>(i);
    return out;
  }
  static std::string text(const std::vector<Expr>& inputs, const Expr& value, const std::vector<Tensor>& values) {
    return function({inputs.begin(), inputs.end()}, {value}, {}, {.mode = Mode::kReference})(values)[0].text();
  }
  const Expr x = vector("x"), c = scalar("c");
};

TEST_F(ScanReference, PastAndFuture) {
  const Expr first = vector("first", {3});
  const Expr y = scan([](Expr before, Expr after, Expr y3, Expr y1) { return after - before + y3 + 10 * y1; },
                      {.sequences = {{x, {-2, 1}}}, .outputs_info = {{first, {-3, -1}}}})
                     .outputs;
  // x is 0, 1, ..., 6: seven elements are four steps. y begins with 1, 0, 2.
  EXPECT_EQ(in_all_modes({x, first}, {y}, {counted(7), Tensor::vector({1.0, 0.0, 2.0})})[0].text(),
            "[24, 243, 2435, 24377]");
}

TEST_F(ScanReference, SpecialCases) {
  auto add = [](Expr x_i, Expr z) { return z + x_i; };
  const Expr sums = scan(add, {.sequences = {x}, .outputs_info = {0.0}}).outputs;
  EXPECT_EQ(text({x}, sums, {counted(5)}), "[0, 1, 3, 6, 10]");
  EXPECT_EQ(text({x}, sums[-1], {counted(5)}), "10");
  EXPECT_EQ(text({x}, reduce(add, {.sequences = {x}, .outputs_info = {0.0}}).outputs, {counted(5)}), "10");
  EXPECT_EQ(text({x}, map([](Expr x_i) { return x_i * 2; }, {.sequences = {x}}).outputs, {counted(3)}), "[0, 2, 4]");
}

TEST_F(ScanReference, TheNumberOfStepsIsPartOfTheGraph) {
  const Expr steps = cast(sum(x), DType::kInt64) / make_constant(Tensor(int64_t{1}));
  const Expr y =
      scan([](Expr h) { return h * 2; }, {.outputs_info = {1.0}, .n_steps = cast(steps, DType::kInt64)}).outputs;
  EXPECT_EQ(in_all_modes({x}, {y}, {counted(3)})[0].text(), "[2, 4, 8]");
  EXPECT_EQ(in_all_modes({x}, {y}, {Tensor::vector({2.0, -1.0})})[0].text(), "[2]");
}

TEST_F(ScanReference, Map) {
  auto times = [](Expr x_i, Expr c) { return x_i * x_i * c; };
  auto mapped = [&](bool go_backwards, int64_t truncate) {
    return map(times, {.sequences = {x},
                       .non_sequences = {c},
                       .truncate_gradient = truncate,
                       .go_backwards = go_backwards,
                       .name = "squares"})
        .outputs;
  };
  EXPECT_EQ(text({x, c}, mapped(false, -1), {counted(4), Tensor(2.0)}), "[0, 2, 8, 18]");
  EXPECT_EQ(text({x, c}, mapped(true, -1), {counted(4), Tensor(2.0)}), "[18, 8, 2, 0]");
  EXPECT_EQ(text({x, c}, grad(sum(mapped(false, 2)), x), {counted(4), Tensor(2.0)}), "[0, 0, 8, 12]");
}

TEST_F(ScanReference, Reduce) {
  // Two outputs, one of which starts with nothing: of both the last values.
  auto step = [](Expr v, Expr digits, Expr c) -> std::vector<Expr> { return {digits * 10 + v, v * c}; };
  auto reduced = [&](bool go_backwards) {
    return reduce(step, {.sequences = {x},
                         .outputs_info = {0.0, std::nullopt},
                         .non_sequences = {c},
                         .go_backwards = go_backwards,
                         .name = "digits"})
        .outputs;
  };
  EXPECT_EQ(text({x, c}, stack({reduced(false)[0], reduced(false)[1]}), {counted(4), Tensor(2.0)}), "[123, 6]");
  EXPECT_EQ(text({x, c}, stack({reduced(true)[0], reduced(true)[1]}), {counted(4), Tensor(2.0)}), "[3210, 0]");
}

TEST_F(ScanReference, FoldlAndFoldr) {
  auto minus = [](Expr v, Expr before, Expr c) { return c * before - v; };
  const ScanOptions options{.sequences = {x}, .outputs_info = {1.0}, .non_sequences = {c}, .name = "fold"};
  EXPECT_EQ(text({x, c}, foldl(minus, options).outputs, {counted(3, 1), Tensor(2.0)}), "-3");  // ((2 - 1) 2 - 2) 2 - 3
  EXPECT_EQ(text({x, c}, foldr(minus, options).outputs, {counted(3, 1), Tensor(2.0)}), "-9");  // ((2 - 3) 2 - 2) 2 - 1
}

TEST_F(ScanReference, TheOrderOfArguments) {
  const Expr Sequence1 = vector("Sequence1"), Sequence2 = vector("Sequence2"), Sequence3 = vector("Sequence3"),
             Output1 = vector("Output1", {5}), Output3 = scalar("Output3"), Argument1 = scalar("Argument1"),
             Argument2 = scalar("Argument2");
  const auto made = scan(
      [](Expr seq1_m3, Expr seq1_p2, Expr seq1_m1, Expr seq2, Expr seq3_p3, Expr out1_m3, Expr out1_m5, Expr out3_m1,
         Expr arg1, Expr arg2) -> std::vector<Expr> {
        const Expr all = stack({seq1_m3, seq1_p2, seq1_m1, seq2, seq3_p3, out1_m3, out1_m5, out3_m1, arg1, arg2});
        return {out1_m3, all, out3_m1};
      },
      {.sequences = {{Sequence1, {-3, 2, -1}}, Sequence2, {Sequence3, {3}}},
       .outputs_info = {{Output1, {-3, -5}}, std::nullopt, Output3},
       .non_sequences = {Argument1, Argument2}});
  const std::vector<Tensor> out =
      in_all_modes({Sequence1, Sequence2, Sequence3, Output1, Output3, Argument1, Argument2}, {made.outputs[1]},
                   {counted(6, 100), counted(1, 200), counted(4, 300), counted(5, 400), Tensor(500.0), Tensor(600.0),
                    Tensor(700.0)});
  // Sequence1[0] stands for the time -3, and Output1[0] for the time -5.
  EXPECT_EQ(out[0].text(), "[[100, 105, 102, 200, 303, 402, 400, 500, 600, 700]]");
}

TEST_F(ScanReference, FindsWhatItIsNotGiven) {
  const Expr W = matrix("W"), W_2 = pow(W, 2), rows = matrix("rows");
  Shared bias(Tensor::vector({1.0, 2.0}), "bias");
  auto f = [&](Expr row) { return dot(row, W_2) + bias; };
  const Expr found = scan(f, {.sequences = {rows}}).outputs;
  const Expr given = scan([](Expr row, Expr W_2, Expr bias) { return dot(row, W_2) + bias; },
                          {.sequences = {rows}, .non_sequences = {W_2, bias.expr()}})
                         .outputs;
  const std::vector<Tensor> out = in_all_modes(
      {rows, W}, {found, given},
      {Tensor::of(std::vector<double>{1, 0, 1, 1}, {2, 2}), Tensor::of(std::vector<double>{1, 2, 3, 4}, {2, 2})});
  EXPECT_EQ(out[0].text(), "[[2, 6], [11, 22]]");
  EXPECT_EQ(out[1].text(), out[0].text());
}

TEST_F(ScanReference, WhatTheStepFunctionReturns) {
  using Outputs = std::vector<Expr>;
  using Updates = std::vector<Update>;
  Shared a(1.0, "a");
  const ScanOptions options{.sequences = {x}};
  // A list and updates, in both orders; one value and updates; a list alone; updates alone.
  const auto both = scan([&](Expr v) { return std::pair(Outputs{v, 2 * v}, Updates{{a, a + v}}); }, options);
  const auto turned = scan([&](Expr v) { return std::pair(Updates{{a, a + v}}, Outputs{v, 2 * v}); }, options);
  const auto one = scan([&](Expr v) { return std::pair(Updates{{a, a + v}}, v * a); }, options);
  const auto outputs = scan([](Expr v) { return Outputs{v, 2 * v}; }, options);
  const auto updates = scan([&](Expr v) { return Updates{{a, a + v}}; }, options);
  for (const std::vector<Expr>& made : {both.outputs, turned.outputs, outputs.outputs}) {
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(text({x}, made[1], {counted(3)}), "[0, 2, 4]");
  }
  EXPECT_EQ(text({x}, one.outputs, {counted(3)}), "[0, 1, 4]");
  EXPECT_TRUE(updates.outputs.empty());
  EXPECT_TRUE(outputs.updates.empty());
  for (const Updates& made : {both.updates, turned.updates, one.updates, updates.updates})
    EXPECT_EQ(text({x}, updated(made, a), {counted(3)}), "4");
}

TEST_F(ScanReference, TheConditionIsTheLast) {
  Shared counter(0.0, "counter");
  const auto made = scan(
      [&](Expr v) {
        return std::tuple(std::vector<Expr>{v, v * v}, std::vector<Update>{{counter, counter + 1}}, until(v >= 2));
      },
      {.sequences = {x}});
  Function f = function({x}, {made.outputs[0], made.outputs[1]}, made.updates);
  EXPECT_EQ(f({counted(9)})[1].text(), "[0, 1, 4]");
  EXPECT_EQ(counter.get_value().as_double(), 3);
  // The number of steps is the most that there can be, and must be there.
  auto doubled = [](Expr h) { return std::pair(2 * h, until(h > 100)); };
  EXPECT_EQ(text({c}, scan(doubled, {.outputs_info = {c}, .n_steps = 3}).outputs, {Tensor(1.0)}), "[2, 4, 8]");
  EXPECT_EQ(text_without_node([&] { scan(doubled, {.outputs_info = {c}}); }),
            "error: scan: the number of steps is not known\n"
            "  expected: n_steps, or a sequence\n"
            "  got:      no sequences and no n_steps");
}

TEST_F(ScanReference, SequencesHaveTheTapZero) {
  auto same = [](Expr v) { return v + 0.5; };
  const ScanSequence wrapped{x};
  EXPECT_EQ(wrapped.taps, std::vector<int64_t>{0});
  EXPECT_EQ(text({x}, scan(same, {.sequences = {x}}).outputs, {counted(2)}), "[0.5, 1.5]");
  EXPECT_EQ(text({x}, scan(same, {.sequences = {wrapped}}).outputs, {counted(2)}), "[0.5, 1.5]");
  EXPECT_EQ(text({x}, scan(same, {.sequences = {{x, {0}}}}).outputs, {counted(2)}), "[0.5, 1.5]");
  // At step t the slice t + k; a shared variable is a sequence too.
  Shared s(counted(5), "s");
  EXPECT_EQ(
      text({}, scan([](Expr now, Expr later) { return later * 10 + now; }, {.sequences = {{s, {0, 2}}}}).outputs, {}),
      "[20, 31, 42]");
}

TEST_F(ScanReference, InitialValuesAreASplitArray) {
  // With the taps -5, -2 and -1 init_y holds five values; what follows them continues the array.
  const Expr init_y = matrix("init_y");
  const Expr y = scan([](Expr m5, Expr m2, Expr m1) { return m5 + 0 * m2 + 0 * m1 + 10; },
                      {.outputs_info = {{init_y, {-5, -2, -1}}}, .n_steps = 7})
                     .outputs;
  const Tensor out = in_all_modes({init_y}, {y}, {Tensor::of(std::vector<double>{0, 1, 2, 3, 4}, {5, 1})})[0];
  ASSERT_EQ(out.shape(), (Shape{7, 1}));
  EXPECT_EQ(out.reshape({7}).text(), "[10, 11, 12, 13, 14, 20, 21]");
}

TEST_F(ScanReference, PartialInformation) {
  const ScanOutput not_wrapped = c, wrapped{c}, nothing, none = std::nullopt;
  EXPECT_EQ(not_wrapped.taps, std::vector<int64_t>{-1});
  EXPECT_EQ(wrapped.taps, std::vector<int64_t>{-1});
  for (const ScanOutput& info : {nothing, none}) {
    EXPECT_TRUE(info.taps.empty());
    EXPECT_FALSE(info.initial.has_value());
    EXPECT_EQ(
        text({x}, scan([](Expr v) { return v * 3; }, {.sequences = {x}, .outputs_info = {info}}).outputs, {counted(3)}),
        "[0, 3, 6]");
  }
  // No list at all: no output has taps, however many there are.
  const auto two = scan([](Expr v) { return std::vector<Expr>{v, v * 3}; }, {.sequences = {x}}).outputs;
  EXPECT_EQ(text({x}, two[1], {counted(3)}), "[0, 3, 6]");
  EXPECT_EQ(
      text_without_node([&] {
        scan([](Expr v, Expr h) { return std::vector<Expr>{v + h, v * 3}; }, {.sequences = {x}, .outputs_info = {c}});
      }),
      "error: scan: the step function gives 2 outputs, and outputs_info has 1\n"
      "  expected: one output for each entry of outputs_info, in their order\n"
      "  hint:     std::nullopt stands for an output that no later step reads");
}

TEST_F(ScanReference, NSteps) {
  auto same = [](Expr v) { return v; };
  const Expr n = iscalar("n");
  auto walked = [&](const ScanOptions& options) { return scan(same, options).outputs; };
  for (const auto& [steps, wanted] :
       {std::pair(int64_t{0}, "[]"), {int64_t{2}, "[0, 1]"}, {int64_t{-2}, "[3, 2]"}, {int64_t{4}, "[0, 1, 2, 3]"}}) {
    EXPECT_EQ(text({x}, walked({.sequences = {x}, .n_steps = steps}), {counted(4)}), wanted);
    EXPECT_EQ(text({x, n}, walked({.sequences = {x}, .n_steps = n}), {counted(4), Tensor(steps)}), wanted);
  }
  EXPECT_EQ(text({x}, walked({.sequences = {x}, .n_steps = -2, .go_backwards = true}), {counted(4)}), "[0, 1]");
  EXPECT_EQ(text({x}, walked({.sequences = {x}}), {counted(4)}), "[0, 1, 2, 3]");
}

TEST_F(ScanReference, NStepsBeyondTheSequences) {
  Function f =
      function({x}, {scan([](Expr v) { return v; }, {.sequences = {x}, .n_steps = 5, .name = "walk"}).outputs});
  EXPECT_EQ(text_without_node([&] { f({counted(3)}); }),
            "error: scan walk: the sequence x has not enough elements for n_steps\n"
            "  expected: 5 <= x.0\n"
            "  got:      5 and 3");
}

// Theano's test of a truncated gradient through until and taps: the last three steps that ran give these numbers.
TEST_F(ScanReference, TruncateGradient) {
  const Expr r = scan([](Expr before, Expr now, Expr u) { return std::pair(before * now, until(now > u)); },
                      {.sequences = {{x, {-2, 0}}}, .non_sequences = {c}, .truncate_gradient = 3})
                     .outputs;
  const std::vector<Tensor> out = in_all_modes({x, c}, {r, grad(sum(r), x)}, {counted(15), Tensor(6.0)});
  EXPECT_EQ(out[0].text(), "[0, 3, 8, 15, 24, 35]");
  EXPECT_EQ(out[1].text(), "[0, 0, 0, 5, 6, 10, 4, 5, 0, 0, 0, 0, 0, 0, 0]");
}

TEST_F(ScanReference, GoBackwards) {
  const Expr y = scan([](Expr before, Expr now, Expr h) { return 10 * h + now - before; },
                      {.sequences = {{x, {-1, 0}}}, .outputs_info = {0.0}, .go_backwards = true})
                     .outputs;
  // From the end towards 0; the taps keep their direction.
  EXPECT_EQ(in_all_modes({x}, {y}, {Tensor::vector({0.0, 1.0, 3.0, 7.0})})[0].text(), "[4, 42, 421]");
}

// The steps of each instance are in the function's profile with its name, those of the gradient too.
TEST_F(ScanReference, TheProfileHasTheNamesOfScans) {
  const Expr rows = matrix("rows", {6, 3}), h0 = vector("h0", {3}), W = matrix("W", {3, 3});
  auto step = [](Expr row, Expr h, Expr W) { return tanh(dot(h, W) + row); };
  const Expr h =
      scan(step, {.sequences = {rows}, .outputs_info = {h0}, .non_sequences = {W}, .name = "forward pass"}).outputs;
  const Expr decayed = scan([](Expr v) { return sin(v) * 0.5; }, {.outputs_info = {h0}, .n_steps = 4}).outputs[-1];
  Function f = function({rows, h0, W}, {grad(sum(h), W), decayed});
  f.start_profile();
  f({Tensor::zeros(DType::kFloat64, {6, 3}), Tensor::zeros(DType::kFloat64, {3}),
     Tensor::zeros(DType::kFloat64, {3, 3})});
  std::map<std::string, int64_t> iterations;
  for (const StepProfile& step : f.profile().steps) iterations[step.loop] = std::max(iterations[step.loop], step.calls);
  iterations.erase("");  // outside loops
  EXPECT_EQ(iterations, (std::map<std::string, int64_t>{
                            {"scan forward pass", 6}, {"scan gradient of forward pass", 6}, {"scan", 4}}));
}

TEST_F(ScanReference, TheProfileOfNestedScansHasBothNames) {
  const Expr rows = matrix("rows", {2, 3});
  const Expr y = scan(
                     [](Expr row, Expr s) {
                       const Expr inner = scan([](Expr v, Expr s) { return sin(v + s); },
                                               {.sequences = {row}, .outputs_info = {s}, .name = "inner"})
                                              .outputs;
                       return inner[-1];
                     },
                     {.sequences = {rows}, .outputs_info = {0.0}, .name = "outer"})
                     .outputs;
  Function f = function({rows}, {y});
  f.start_profile();
  f({Tensor::zeros(DType::kFloat64, {2, 3})});
  int64_t iterations = 0;
  for (const StepProfile& step : f.profile().steps)
    if (step.loop == "scan outer / scan inner") iterations = std::max(iterations, step.calls);
  EXPECT_EQ(iterations, 6);
}

// A scan has no mode: its steps are part of the function's program, and computed as all of it is.
TEST_F(ScanReference, TheFunctionsModeIsThatOfItsLoops) {
  const Expr y = scan([](Expr h) { return sin(h) + 1; }, {.outputs_info = {c}, .n_steps = 5}).outputs;
  std::vector<Tensor> got;
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
    Function f = function({c}, {y}, {}, {.mode = mode});
    EXPECT_EQ(f.is_native(), mode != Mode::kReference);
    EXPECT_TRUE(f.info().reference_steps.empty());
    got.push_back(f({Tensor(0.3)})[0]);
  }
  for (int64_t t = 0; t < 5; ++t) {
    EXPECT_NEAR(got[0].as_double(t), got[1].as_double(t), 1e-14);
    EXPECT_EQ(got[0].as_double(t), got[2].as_double(t));
  }
}

TEST_F(ScanReference, ReturnsOutputsAndUpdates) {
  Shared a(1.0, "a");
  auto [one, updates] = scan(
      [&](Expr v) {
        return std::pair(v * a, std::vector<Update>{{a, a + 1}});
      },
      {.sequences = {x}});
  static_assert(std::is_same_v<decltype(one), Expr>);
  auto [several, more] = scan(
      [&](Expr v) {
        return std::pair(std::vector<Expr>{v}, std::vector<Update>{{a, a * 2}});
      },
      {.sequences = {x}});
  static_assert(std::is_same_v<decltype(several), std::vector<Expr>>);
  // Only shared variables have updates, and each has one.
  EXPECT_EQ(text_without_node([&] {
              scan([&](Expr v) { return std::pair(v, std::vector<Update>{{c, c + 1}}); }, {.sequences = {x}});
            }),
            "error: scan: an update is of no shared variable\n"
            "  expected: a Shared\n"
            "  got:      c float64[]");
  EXPECT_EQ(
      text_without_node([&] {
        scan([&](Expr v) { return std::pair(v, std::vector<Update>{{a, a + 1}, {a, a * 2}}); }, {.sequences = {x}});
      }),
      "error: scan: two updates of a\n"
      "  expected: one update for each variable");
  std::vector<Update> both = updates;
  both.insert(both.end(), more.begin(), more.end());
  EXPECT_EQ(text_without_node([&] { function({x}, {one}, both); }),
            "error: function: two updates of one shared variable\n"
            "  got:      a float64[]");
}

TEST_F(ScanReference, Strict) {
  const Expr W = scalar("W");
  auto step = [&](Expr v) { return v * W; };
  EXPECT_EQ(text({x, W}, scan(step, {.sequences = {x}}).outputs, {counted(3), Tensor(2.0)}), "[0, 2, 4]");
  EXPECT_EQ(text_without_node([&] { scan(step, {.sequences = {x}, .strict = true, .name = "rnn"}); }),
            "error: scan rnn: the step function reads W, which is no non-sequence\n"
            "  expected: with strict all that it reads from outside among the non_sequences\n"
            "  got:      W float64[]");
  auto given = [](Expr v, Expr W) { return v * W; };
  EXPECT_EQ(text({x, W}, scan(given, {.sequences = {x}, .non_sequences = {W}, .strict = true}).outputs,
                 {counted(3), Tensor(2.0)}),
            "[0, 2, 4]");
}

}  // namespace
}  // namespace thtrain
