// What is said where an index is wrong: when an expression is built, when a call begins, and when data is read.
#include <gtest/gtest.h>

#include "compiler/ir/length_condition.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain::index_errors_test {
namespace {

const Expr x = tensor("x", {4, 5}, DType::kFloat32);
const Expr open = tensor("open", {"n", 5}, DType::kFloat32);
const Expr i = iscalar("i");

std::vector<LengthCheck> checks_of(const Expr& value) {
  std::vector<LengthCheck> out;
  const Node& node = value.node();
  node.op->infer({*node.op, node.inputs, node.props, node.bodies, node.origin, &out});
  return out;
}

std::string checks_text(const Expr& value) {
  return join(checks_of(value), "\n",
              [](const LengthCheck& check) { return str(check.what, ": ", condition_of(check).expected); });
}

TEST(IndexErrors, IntegerOutsideAKnownAxis) {
  EXPECT_EQ(text_without_node([] {
              subtensor(x, {0, 5});
            }),
            "error: subtensor: the index 5 is outside axis 1\n"
            "  expected: -5 <= index < 5\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] { subtensor(tensor("y", {0}, DType::kInt8), {0}); }),
            "error: subtensor: the index 0 is outside axis 0\n"
            "  expected: an axis with elements\n"
            "  got:      y int8[0]");
}

TEST(IndexErrors, NamesTheLineThatBuiltIt) {
  try {
    subtensor(x, {9});
    FAIL();
  } catch (const UserError& error) {
    std::string node = error.messages()[0].node;
    EXPECT_NE(node.find("index_errors_test.cpp:"), std::string::npos) << node;
  }
}

TEST(IndexErrors, WrongIndices) {
  EXPECT_EQ(text_without_node([] {
              subtensor(x, {0, 0, 0});
            }),
            "error: subtensor: 3 indices are given\n"
            "  expected: at most 2\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] { subtensor(x, {x}); }),
            "error: subtensor: an index is neither integers nor bools\n"
            "  expected: integers, slices, integer tensors, masks with axes, an ellipsis or new axes\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] {
              subtensor(x, {tensor("mask", {4, 5}, DType::kBool), 0});
            }),
            "error: subtensor: the indices are for 3 axes\n"
            "  expected: at most 2\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] {
              subtensor(x, {ellipsis(), 0, ellipsis()});
            }),
            "error: subtensor: there are two ellipses\n"
            "  expected: one at most");
  EXPECT_EQ(text_without_node([] { subtensor(x, {Slice{.step = 0}}); }),
            "error: subtensor: the step of a slice is 0\n"
            "  expected: a number that is not 0\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] { subtensor(x, {Slice{.stop = x}}); }),
            "error: subtensor: an end or the step of a slice is no integer scalar\n"
            "  expected: an integer without axes\n"
            "  got:      x float32[4, 5]");
  const Tensor values = Tensor::zeros(DType::kFloat32, {4, 5});
  EXPECT_EQ(text_without_node([&] {
              evaluate({x[Slice{.step = i}]}, {{x, values}, {i, Tensor(int64_t{0})}});
            }),
            "error: check: subtensor: the step of a slice is 0\n"
            "  expected: a condition that holds");
  // The user's axis is named, not that of the value with its axes in another order.
  const Expr t = tensor("t", {2, 3, 4}, DType::kFloat32), which = tensor("which", {2}, DType::kInt64);
  EXPECT_EQ(text_without_node([&] {
              evaluate({t[{which, all(), which}]},
                       {{t, Tensor::zeros(DType::kFloat32, {2, 3, 4})}, {which, Tensor::vector<int64_t>({1, 2})}});
            }),
            "error: gather: the index 2 is outside axis 0\n"
            "  expected: -2 <= index < 2");
}

TEST(IndexErrors, RowsThatAreNotThere) {
  EXPECT_EQ(text_without_node([] { rows(x, 2, 3); }),
            "error: subtensor: the part 2:5 is outside axis 0\n"
            "  expected: a part of 0:4\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] { rows(x, -1, 1); }),
            "error: subtensor: the part -1:0 is outside axis 0\n"
            "  expected: a part of 0:4\n"
            "  got:      x float32[4, 5]");
  EXPECT_EQ(text_without_node([] { rows(scalar("s"), 0, 1); }),
            "error: rows: a scalar has no rows\n"
            "  expected: a value with an axis\n"
            "  got:      s float64[]");
  EXPECT_EQ(text_without_node([] { slice_axis(x, 2, 0, 1); }),
            "error: slice_axis: there is no axis 2\n"
            "  expected: an axis from -2 to 1\n"
            "  got:      x float32[4, 5]");
}

TEST(IndexErrors, ChecksOfACall) {
  EXPECT_EQ(checks_text(rows(open, i * 2, 2)),
            "subtensor: the part 2*i:2*i + 2 is outside axis 0: 0 <= 2*i\n"
            "subtensor: the part 2*i:2*i + 2 is outside axis 0: 2*i + 2 <= n");
  EXPECT_EQ(checks_text(subtensor(open, {2})), "subtensor: the index 2 is outside axis 0: 3 <= n");
  EXPECT_EQ(checks_text(subtensor(open, {-2})), "subtensor: the index -2 is outside axis 0: 2 <= n");
  EXPECT_EQ(checks_text(subtensor(open, {i})), "subtensor: the index i is outside axis 0: -n <= i <= n - 1");
  EXPECT_EQ(checks_text(subtensor(x, {i, -i - 1})),
            "subtensor: the index i is outside axis 0: -4 <= i <= 3\n"
            "subtensor: the index -i - 1 is outside axis 1: -5 <= -i - 1 <= 4");
  EXPECT_EQ(checks_text(set_subtensor(subtensor(open, {i}), 0)),
            "inc_subtensor: the index i is outside axis 0: -n <= i <= n - 1");
  // Slices are moved to the axis: nothing can be wrong.
  EXPECT_EQ(checks_text(subtensor(open, {Slice{.start = i, .stop = -1}})), "");
  EXPECT_EQ(checks_text(rows(open, 0, length(open, 0))), "");
}

TEST(IndexErrors, AnIndexOfACallIsShownAsItWasWritten) {
  const Expr y = vector("y", {"n"});
  const std::vector<Tensor> values{Tensor::vector({1.0, 2.0, 3.0}), Tensor(int64_t{2})};
  for (const Mode mode : {Mode::kReference, Mode::kNative}) {
    Function f = function({y, i}, {y[i + 1]}, {}, {.mode = mode});
    EXPECT_EQ(f({values[0], Tensor(int64_t{1})})[0].as_double(), 3);
    EXPECT_EQ(f({values[0], Tensor(int64_t{-4})})[0].as_double(), 1);
    const std::string text = text_without_node([&] { f(values); });
    EXPECT_TRUE(
        text.starts_with("error: subtensor: the index i + 1 is outside axis 0\n"
                         "  expected: -n <= i + 1 <= n - 1\n"
                         "  got:      3; the nearest is 2"))
        << text;
    EXPECT_TRUE(text_without_node([&] {
                  f({values[0], Tensor(int64_t{-5})});
                }).find("got:      -4; the nearest is -3") != std::string::npos);
  }
}

TEST(IndexErrors, PartsThatDoNotFillAnAxis) {
  EXPECT_EQ(text_without_node([] {
              split(x, {2, 1});
            }),
            "error: split: the sizes do not add up to the length of axis 0\n"
            "  expected: 4\n"
            "  got:      3 = 2 + 1");
  EXPECT_EQ(text_without_node([] {
              split(x, {5, -1});
            }),
            "error: split: a size is negative\n"
            "  expected: sizes of at least 0\n"
            "  got:      5, -1");
  // A call asks for it whichever piece it reads.
  Expr v = vector("v", {"n"});
  for (const Mode mode : {Mode::kReference, Mode::kNative}) {
    Function f = function({v}, {split(v, {2, 2})[0]}, {}, {.mode = mode});
    EXPECT_EQ(f({Tensor::vector({1.0, 2.0, 3.0, 4.0})})[0].text(), "[1, 2]");
    EXPECT_EQ(text_without_node([&] {
                f({Tensor::vector({1.0, 2.0, 3.0})});
              }),
              "error: split: the sizes do not add up: axis 0 has another length\n"
              "  expected: n == 4\n"
              "  got:      3 and 4");
  }
}

TEST(IndexErrors, IndicesFromData) {
  Expr which = ivector("which");
  auto at = [&](const Expr& value, std::vector<int64_t> numbers) {
    Tensor indices = Tensor::of(numbers, {static_cast<int64_t>(numbers.size())});
    return text_without_node([&] {
      evaluate({value}, {{x, Tensor::zeros(DType::kFloat32, {4, 5})}, {which, indices}});
    });
  };
  EXPECT_EQ(at(take(x, which, 1), {4, -6}),
            "error: take: the index -6 is outside axis 1\n"
            "  expected: -5 <= index < 5");
  // As NumPy's: also where there is no element to read.
  EXPECT_EQ(at(take(subtensor(x, {Slice{.stop = 0}}), which, 1), {5}),
            "error: take: the index 5 is outside axis 1\n"
            "  expected: -5 <= index < 5");
  EXPECT_EQ(at(scatter_add(x, which, 1, 0), {4}),
            "error: scatter_add: the index 4 is outside axis 0\n"
            "  expected: -4 <= index < 4");
  EXPECT_EQ(at(subtensor(x, {take(which, 0)}), {4}),
            "error: subtensor: the index 4 is outside axis 0\n"
            "  expected: -4 <= index < 4");
  EXPECT_EQ(at(rows(x, take(which, 0), 2), {3}),
            "error: subtensor: the part of length 2 that starts at 3 is outside axis 0\n"
            "  expected: 0 <= start < 3");
  EXPECT_EQ(at(pick_rows(x, which), {0, 4, 5, 1}),
            "error: pick_rows: the index of row 2 is 5\n"
            "  expected: -5 <= index < 5");
  EXPECT_EQ(at(pick_rows(x, which), {0, 4, -5, -6}),
            "error: pick_rows: the index of row 3 is -6\n"
            "  expected: -5 <= index < 5");
  EXPECT_EQ(at(pick_rows(x, which, Negative::kRefused), {0, 4, 5, 1}),
            "error: pick_rows: the label of row 2 is 5\n"
            "  expected: 0 <= label < 5");
  EXPECT_EQ(at(pick_rows(x, which, Negative::kRefused), {0, 4, -1, 1}),
            "error: pick_rows: the label of row 2 is -1\n"
            "  expected: 0 <= label < 5");
  EXPECT_EQ(at(pick_rows(x, which), {0, 4, 1}),
            "error: pick_rows: the number of rows and the number of labels differ\n"
            "  expected: [4]\n"
            "  got:      [3]");
}

TEST(IndexErrors, AnUnsignedIndexIsNeverNegative) {
  Expr which = tensor("which", {1}, DType::kUInt64);
  Tensor huge = Tensor::of(std::vector<uint64_t>{~uint64_t{0}}, {1});
  EXPECT_THROW(evaluate({take(x, which)}, {{x, Tensor::zeros(DType::kFloat32, {4, 5})}, {which, huge}}), UserError);
}

TEST(IndexErrors, Writing) {
  EXPECT_EQ(text_without_node([] { set_subtensor(x, 1); }),
            "error: set_subtensor: the first argument is not a part of a value\n"
            "  expected: the result of x[...], subtensor, rows, slice_axis, take or a mask\n"
            "  got:      input x float32[4, 5]\n"
            "  hint:     set_subtensor(x[...], y) gives x with that part written");
  EXPECT_EQ(text_without_node([] { inc_subtensor(subtensor(x, {0}), tensor("y", {5}, DType::kFloat64)); }),
            "error: inc_subtensor: the new elements do not fit the dtype\n"
            "  expected: float32\n"
            "  got:      y float64[5]\n"
            "  hint:     cast(y, float32) where the loss is meant");
  EXPECT_EQ(text_without_node([] { set_subtensor(subtensor(x, {0}), tensor("y", {4}, DType::kFloat32)); }),
            "error: set_subtensor: axis 0 has length 4 and cannot be repeated to 5\n"
            "  expected: [5] equal to the lengths of x, except where those are 1\n"
            "  got:      y float32[4]");
  EXPECT_EQ(text_without_node([] { inc_subtensor(subtensor(tensor("b", {3}, DType::kBool), {0}), true); }),
            "error: inc_subtensor: bools cannot be added to\n"
            "  expected: numbers\n"
            "  got:      b bool[3], bool[]");
  EXPECT_EQ(text_without_node([] { take(x, tensor("f", {2}, DType::kFloat32)); }),
            "error: take: the indices are not integers\n"
            "  expected: an integer dtype\n"
            "  got:      x float32[4, 5], f float32[2]");
  EXPECT_EQ(text_without_node([] { pick_rows(x, tensor("t", {3}, DType::kInt64)); }),
            "error: pick_rows: the number of rows and the number of labels differ\n"
            "  expected: 4 == 3\n"
            "  got:      x float32[4, 5], t int64[3]");
}

}  // namespace
}  // namespace thtrain::index_errors_test
