// What scan says of wrong arguments: the whole texts, with the user's names and the line that built the scan. Some are
// found when the scan is built, others when a call knows the lengths.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::scan_errors_test {
namespace {

// With the location.
template <class F>
std::string whole_text(F f) {
  try {
    f();
  } catch (const UserError& error) {
    return without_call(error.what());
  }
  return "no error";
}
std::string built_at(int line) {
  return str("\n  node:     built at tests/compiler/runtime/scan_errors_test.cpp:", line);
}

void call(const std::vector<Expr>& inputs, const Expr& output, const std::vector<Tensor>& values) {
  function({inputs.begin(), inputs.end()}, {output}, {}, {.mode = Mode::kReference})(values);
}
Tensor zeros_of(const Shape& shape) {
  return Tensor::zeros(DType::kFloat64, shape);
}

const Expr u = vector("u"), speech = vector("speech", {3}), frames = matrix("frames"), state = vector("state"),
           level = scalar("level");

TEST(ScanMistakes, ASequenceThatIsTooShortForItsTaps) {
  auto add = [](Expr before, Expr now) { return before + now; };
  const int line = __LINE__ + 2;
  auto build = [&](const Expr& sequence) {
    return scan(add, {.sequences = {{sequence, {-4, 0}}}, .name = "rnn"}).outputs;
  };
  EXPECT_EQ(whole_text([&] { build(speech); }),
            "error: scan rnn: the sequence speech is too short for its taps [-4, 0]\n"
            "  expected: at least 4 elements\n"
            "  got:      speech float64[3]" +
                built_at(line));
  EXPECT_EQ(whole_text([&] { call({u}, build(u), {zeros_of({2})}); }),
            "error: scan rnn: the sequence u is too short for its taps [-4, 0]\n"
            "  expected: 4 <= u.0\n"
            "  got:      4 and 2" +
                built_at(line));
}

TEST(ScanMistakes, AnInitialStateOfTheWrongShape) {
  const Expr three = vector("three", {3});
  int line = __LINE__ + 1;
  EXPECT_EQ(whole_text([&] {
              scan([](Expr x, Expr h) { return join(0, {h, h}) + x; }, {.sequences = {u}, .outputs_info = {three}});
            }),
            "error: scan: output 0 (three) has another shape than its initial value\n"
            "  expected: float64[3]\n"
            "  got:      float64[6]" +
                built_at(line));
  line = __LINE__ + 1;
  EXPECT_EQ(whole_text([&] {
              scan([](Expr x, Expr h) { return sum(h) + x; },
                   {.sequences = {u}, .outputs_info = {three}, .name = "rnn"});
            }),
            "error: scan rnn: output 0 (three) has other axes than its initial value\n"
            "  expected: float64[3]\n"
            "  got:      float64[]" +
                built_at(line));
  // Lengths that only a call knows.
  line = __LINE__ + 2;
  const Expr y =
      scan([](Expr x, Expr) { return x; }, {.sequences = {frames}, .outputs_info = {state}, .name = "rnn"}).outputs;
  EXPECT_EQ(whole_text([&] {
              call({frames, state}, y, {zeros_of({2, 3}), zeros_of({2})});
            }),
            "error: scan rnn: output 0 (state): axis 0 has another length\n"
            "  expected: frames.1 == state.0\n"
            "  got:      3 and 2" +
                built_at(line));
}

TEST(ScanMistakes, InitialValuesThatDoNotFitTheTaps) {
  auto add = [](Expr x, Expr a, Expr b) { return x + a + b; };
  const Expr two = vector("two", {2});
  const int line = __LINE__ + 2;
  auto build = [&](const Expr& initial) {
    return scan(add, {.sequences = {u}, .outputs_info = {{initial, {-3, -1}}}, .name = "rnn"}).outputs;
  };
  EXPECT_EQ(whole_text([&] { build(two); }),
            "error: scan rnn: the initial values of output 0 (two) do not fit the taps [-3, -1]\n"
            "  expected: 3 values along the first axis\n"
            "  got:      two float64[2]" +
                built_at(line));
  EXPECT_EQ(whole_text([&] { build(level); }),
            "error: scan rnn: output 0 (level) has the taps [-3, -1] and a scalar as initial value\n"
            "  expected: initial values along the first axis, 3 of them\n"
            "  got:      level float64[]" +
                built_at(line));
  EXPECT_EQ(whole_text([&] {
              call({u, state}, build(state), {zeros_of({2}), zeros_of({2})});
            }),
            "error: scan rnn: the initial values of output 0 (state) do not fit the taps [-3, -1]: axis 0 has another "
            "length\n"
            "  expected: state.0 == 3\n"
            "  got:      2 and 3" +
                built_at(line));
}

TEST(ScanMistakes, AnInitialStateOfTheWrongDtype) {
  const Expr half = tensor("half", {}, DType::kFloat32);
  const int line = __LINE__ + 1;
  EXPECT_EQ(whole_text([&] {
              scan([](Expr x, Expr h) { return x + h; }, {.sequences = {u}, .outputs_info = {half}, .name = "rnn"});
            }),
            "error: scan rnn: output 0 (half) is of a wider dtype than its initial value\n"
            "  expected: float32[], as the initial value\n"
            "  got:      float64[]" +
                built_at(line) +
                "\n  hint:     cast the initial value to the dtype of the step's result, or the result to that of the "
                "initial value");
}

TEST(ScanMistakes, MoreStepsThanTheSequenceHas) {
  const int line = __LINE__ + 2;
  auto build = [](const Expr& sequence) {
    return scan([](Expr x) { return x; }, {.sequences = {sequence}, .n_steps = 5, .name = "rnn"}).outputs;
  };
  EXPECT_EQ(whole_text([&] { build(speech); }),
            "error: scan rnn: the sequence speech has not enough elements for n_steps\n"
            "  expected: at least 5 elements\n"
            "  got:      speech float64[3]" +
                built_at(line));
  EXPECT_EQ(whole_text([&] { call({u}, build(u), {zeros_of({4})}); }),
            "error: scan rnn: the sequence u has not enough elements for n_steps\n"
            "  expected: 5 <= u.0\n"
            "  got:      5 and 4" +
                built_at(line));
}

TEST(ScanMistakes, AnOutputWithTapsAndNoInitialState) {
  ScanOutput with_taps;
  with_taps.taps = {-2, -1};
  const int line = __LINE__ + 1;
  EXPECT_EQ(whole_text([&] {
              scan([](Expr x, Expr a, Expr b) { return x + a + b; },
                   {.sequences = {u}, .outputs_info = {with_taps}, .name = "rnn"});
            }),
            "error: scan rnn: output 0 has taps and no initial value\n"
            "  expected: an initial value, or no taps\n"
            "  got:      [-2, -1]" +
                built_at(line));
  EXPECT_EQ(text_without_node([&] {
              scan([](Expr x) { return x; }, {.sequences = {u}, .outputs_info = {{level, {}}}});
            }),
            "error: scan: output 0 (level) has an initial value and no taps\n"
            "  expected: taps such as {-1}");
}

TEST(ScanMistakes, AStepFunctionThatReturnsAnotherNumberOfValues) {
  const int line = __LINE__ + 1;
  EXPECT_EQ(whole_text([&] {
              scan([](Expr x, Expr a, Expr) { return x + a; },
                   {.sequences = {u}, .outputs_info = {level, level}, .name = "rnn"});
            }),
            "error: scan rnn: the step function gives 1 output, and outputs_info has 2\n"
            "  expected: one output for each entry of outputs_info, in their order" +
                built_at(line) + "\n  hint:     std::nullopt stands for an output that no later step reads");
  EXPECT_EQ(text_without_node([&] {
              scan([](Expr x) { return x; },
                   {.sequences = {{u, {-1, 0}}}, .outputs_info = {level}, .non_sequences = {frames, 2.0}});
            }),
            "error: scan: the step function takes 1 value, and gets 5\n"
            "  expected: u[t-1], u[t], output 0 (level)[t-1], frames, non-sequence 1\n"
            "  hint:     sequences come first, then the outputs that have taps, then the non-sequences");
  EXPECT_EQ(text_without_node([&] { scan([](Expr) { return std::vector<Expr>{Expr()}; }, {.sequences = {u}}); }),
            "error: an output of the step function is an empty expression\n"
            "  expected: an expression that was built before\n"
            "  got:      Expr(), which has no value\n"
            "  hint:     Expr::has_value() tells whether there is one");
}

TEST(ScanMistakes, SequencesAndNumbersOfSteps) {
  auto same = [](Expr x) { return x; };
  EXPECT_EQ(text_without_node([&] { scan(same, {.sequences = {level}}); }),
            "error: scan: the sequence level is a scalar\n"
            "  expected: a value with an axis to walk along\n"
            "  got:      level float64[]\n"
            "  hint:     values that are the same in every step are non_sequences");
  EXPECT_EQ(text_without_node([&] {
              scan([] { return Expr(level); }, {.sequences = {{u, {}}}});
            }),
            "error: scan: the sequence u has no taps\n"
            "  expected: one tap or more, such as {0}");
  EXPECT_EQ(text_without_node([&] { scan(same, {.sequences = {u}, .n_steps = level}); }),
            "error: scan: n_steps is no integer scalar\n"
            "  expected: int64[]\n"
            "  got:      level float64[]");
  EXPECT_EQ(text_without_node([&] { scan(same, {.sequences = {u}, .truncate_gradient = -2}); }),
            "error: scan: truncate_gradient is negative\n"
            "  expected: at least 1, the number of steps that a gradient goes back through, or -1 for all\n"
            "  got:      -2");
  EXPECT_EQ(text_without_node([&] { scan(same, {.sequences = {u}, .truncate_gradient = 0}); }),
            "error: scan: truncate_gradient is 0, which leaves no gradient\n"
            "  expected: at least 1, the number of steps that a gradient goes back through, or -1 for all\n"
            "  got:      0");
  EXPECT_EQ(text_without_node([&] { scan([](Expr x) { return std::pair(x, until(x)); }, {.sequences = {u}}); }),
            "error: scan: the condition of until is no bool scalar\n"
            "  expected: bool[]\n"
            "  got:      u float64[]");
}

TEST(ScanMistakes, UpdatesOfAnotherType) {
  Shared a(zeros_of({2}), "a");
  EXPECT_EQ(text_without_node([&] {
              scan([&](Expr x) { return std::pair(x, std::vector<Update>{{a, sum(a)}}); }, {.sequences = {u}});
            }),
            "error: scan: the update of a is of another type\n"
            "  expected: float64[2]\n"
            "  got:      float64[]");
  const int line = __LINE__ + 1;
  const auto made = scan(
      [&](Expr x) {
        return std::pair(x, std::vector<Update>{{a, state}});
      },
      {.sequences = {u}, .name = "rnn"});
  EXPECT_EQ(whole_text([&] {
              function({u, state}, {made.outputs}, made.updates)({zeros_of({1}), zeros_of({1})});
            }),
            "error: scan rnn: the update of a: axis 0 has another length\n"
            "  expected: state.0 == 2\n"
            "  got:      1 and 2" +
                built_at(line));
  EXPECT_EQ(text_without_node([&] { updated(made.updates, level); }),
            "error: there is no update of the variable\n"
            "  expected: a variable that the loop updates\n"
            "  got:      level float64[]");
}

}  // namespace
}  // namespace thtrain::scan_errors_test
