// Lengths and layouts of parts: what is known before a call, and that reading a part moves no element.
#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/golden_lines.h"

namespace thtrain::index_types_test {
namespace {

const Expr x = tensor("x", {"n", 8}, DType::kFloat32);

std::string lengths_of(const Expr& value) {
  return readable(dims_text(value.dims()));
}

// "strides + offset" on a row-major input.
std::string layout_of(const Expr& value) {
  auto layout = view_rule(*value.node().op, 0)->view({value.node(), row_major(value.node().inputs[0].dims())});
  return layout ? readable(str(dims_text(layout->strides), " + ", layout->offset.text())) : "copied";
}

TEST(IndexTypes, LengthsOfSlices) {
  EXPECT_EQ(lengths_of(subtensor(x, {Slice{.start = 1}})), "max(0, n - 1), 8");
  EXPECT_EQ(lengths_of(subtensor(x, {Slice{.stop = -1}})), "max(0, n - 1), 8");
  EXPECT_EQ(lengths_of(subtensor(x, {Slice{1, -1}})), "max(0, n - 2), 8");
  EXPECT_EQ(lengths_of(subtensor(x, {Slice{.step = -1}, Slice{.step = 3}})), "n, 3");
  EXPECT_EQ(lengths_of(subtensor(x, {Slice{.step = 2}, 3})), "floor_div(n + 1, 2)");
  EXPECT_EQ(lengths_of(subtensor(x, {Slice{.stop = 3}})), "min(3, n), 8");
  EXPECT_EQ(lengths_of(subtensor(x, {all(), Slice{-3, 100}})), "n, 3");
  EXPECT_EQ(lengths_of(rows(x, iscalar("i") * 20, 20)), "20, 8");
  EXPECT_EQ(lengths_of(rows(x, 0, "m")), "m, 8");
}

TEST(IndexTypes, NeighboursHaveEqualLengths) {
  // What a recurrence compares: no check is needed.
  Expr sum = add(subtensor(x, {Slice{.start = 1}}), subtensor(x, {Slice{.stop = -1}}));
  EXPECT_EQ(lengths_of(sum), "max(0, n - 1), 8");
}

TEST(IndexTypes, PartsAreViews) {
  EXPECT_EQ(layout_of(subtensor(x, {all(), 2})), "8 + 2");
  EXPECT_EQ(layout_of(subtensor(x, {Slice{.start = 1, .step = 2}, Slice{.step = -1}})), "16, -1 + 15");
  EXPECT_EQ(layout_of(rows(x, iscalar("i") * 20, 20)), "8, 1 + 160*@i");
  EXPECT_EQ(layout_of(rows(x, take(ivector("v"), 0), 20)), "copied");
}

TEST(IndexTypes, ComputedIndicesThatLengthsKnow) {
  Expr i = iscalar("i");
  Expr last = rows(x, length(x, 0) - 1, 1);
  EXPECT_EQ(layout_of(last), "8, 1 + 8*n - 8");
  Tensor value = counting({3, 8}).cast(DType::kFloat32);
  EXPECT_TRUE(same_bits(evaluate({last}, {{x, value}})[0], value.rows(2, 1)));
  Tensor chosen = evaluate({subtensor(x, {i - 2})}, {{x, value}, {i, Tensor(int64_t{1})}})[0];
  EXPECT_TRUE(same_bits(chosen, value.rows(2, 1).reshape({8})));
}

TEST(IndexTypes, LiteralsTakeTheDtypeOfThePart) {
  Expr set = set_subtensor(subtensor(x, {0}), 2.5);
  EXPECT_EQ(set.type().text(), "float32[n, 8]");
  Expr inc = inc_subtensor(subtensor(x, {0}), tensor("k", {8}, DType::kInt8));
  EXPECT_EQ(inc.dtype(), DType::kFloat32);
}

TEST(IndexTypes, TakeHasTheAxesOfItsIndices) {
  Expr which = tensor("which", {"a", "b"}, DType::kInt32);
  EXPECT_EQ(lengths_of(take(x, which, 1)), "n, a, b");
  EXPECT_EQ(lengths_of(take(x, 3, 1)), "n");
  EXPECT_EQ(lengths_of(scatter_add(x, which, 1)), "n, 8");
}

TEST(IndexTypes, SplitIsJoinedBack) {
  std::vector<Expr> parts = split(x, {3, "m", 1}, 1);
  EXPECT_EQ(lengths_of(parts[1]), "n, m");
  EXPECT_EQ(layout_of(parts[2]), "8, 1 + m + 3");
  Tensor value = counting({2, 8}).cast(DType::kFloat32);
  std::vector<Expr> known = split(x, {3, 4, 1}, 1);
  Expr back = join(1, {known[0], known[1], known[2]});
  EXPECT_TRUE(same_bits(evaluate({back}, {{x, value}})[0], value));
}

}  // namespace
}  // namespace thtrain::index_types_test
