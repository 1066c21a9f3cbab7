// Types, layouts and errors of the ops on shapes.
#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain::shape_types_test {
namespace {

const Expr x = tensor("x", {"batch", 784}, DType::kFloat32);

std::string text(const Expr& value) {
  return readable(value.type().text());
}

std::string layout_of(const Expr& value, const Layout& input) {
  auto layout = view_rule(*value.node().op, 0)->view({value.node(), input});
  return layout ? readable(str(dims_text(layout->strides), " + ", layout->offset.text())) : "copied";
}

TEST(ShapeTypes, ReshapeFindsTheOpenLength) {
  EXPECT_EQ(text(reshape(x, {-1, 28, 28})), "float32[batch, 28, 28]");
  EXPECT_EQ(text(reshape(x, {"batch", -1})), "float32[batch, 784]");
  EXPECT_EQ(text(reshape(x, {"batch", 1, 28, -1})), "float32[batch, 1, 28, 28]");
  EXPECT_EQ(text(reshape(x, {length(x, 0), 28, 28})), "float32[batch, 28, 28]");
  EXPECT_EQ(text(flatten(reshape(x, {-1, 28, 28}), 2)), "float32[batch, 784]");
  EXPECT_EQ(text(flatten(x)), "float32[784*batch]");
  EXPECT_TRUE(reshape(x, {"batch", 784}).same(x));
}

TEST(ShapeTypes, ReshapeIsAViewWhereStridesAllow) {
  Expr y = reshape(x, {-1, 28, 28});
  EXPECT_EQ(layout_of(y, row_major(x.dims())), "784, 28, 1 + 0");
  // Columns of a wider matrix: the last axis can be split, rows cannot be merged.
  Layout wide{.strides = {1000, 1}, .offset = 16};
  EXPECT_EQ(layout_of(y, wide), "1000, 28, 1 + 16");
  EXPECT_EQ(layout_of(flatten(x), wide), "copied");
  EXPECT_EQ(layout_of(reshape(x, {1, "batch", 784, 1}), wide), "784*batch, 1000, 1, 1 + 16");
}

TEST(ShapeTypes, ReshapeErrors) {
  Expr y = tensor("y", {2, 3}, DType::kFloat64);
  EXPECT_EQ(text_without_node([&] {
              reshape(y, {4, 2});
            }),
            "error: reshape: the numbers of elements differ\n"
            "  expected: 6 elements\n"
            "  got:      y float64[2, 3]\n"
            "  hint:     the lengths [4, 2] have 8");
  EXPECT_EQ(text_without_node([&] {
              reshape(y, {-1, -1});
            }),
            "error: reshape: more than one length is -1\n"
            "  expected: at most one\n"
            "  got:      [-1, -1]");
  EXPECT_EQ(text_without_node([&] {
              reshape(y, {0, -1});
            }),
            "error: reshape: the length for -1 is not determined, since another length is 0\n"
            "  expected: lengths above 0\n"
            "  got:      y float64[2, 3] as [0, -1]");
  EXPECT_EQ(text_without_node([&] {
              reshape(y, {-2, -3});
            }),
            "error: reshape: the length -2 is negative\n"
            "  expected: lengths of at least 0\n"
            "  got:      y float64[2, 3]");
  Expr computed = take(tensor("v", {3}, DType::kInt64), 0);
  EXPECT_EQ(text_without_node([&] {
              reshape(y, {computed, 2});
            }),
            "error: a length is not known before the graph runs\n"
            "  expected: a number, a length of an axis, a scalar input, or sums, differences and products of them\n"
            "  got:      int64[]\n"
            "  hint:     pass the number as an input of the function");
  EXPECT_EQ(text_without_node([&] { flatten(y, 3); }),
            "error: flatten: 3 axes are asked for\n"
            "  expected: from 1 to 2\n"
            "  got:      y float64[2, 3]");
}

TEST(ShapeTypes, AxesErrors) {
  Expr y = tensor("y", {2, "n"}, DType::kFloat64);
  EXPECT_EQ(text_without_node([&] {
              transpose(y, {0, 2});
            }),
            "error: transpose: there is no axis 2\n"
            "  expected: an axis from -2 to 1\n"
            "  got:      y float64[2, n]");
  EXPECT_EQ(text_without_node([&] { transpose(y, {0}); }),
            "error: transpose: 1 axes are given\n"
            "  expected: all 2 axes\n"
            "  got:      y float64[2, n]\n"
            "  hint:     dimshuffle adds and drops axes");
  EXPECT_EQ(text_without_node([&] {
              dimshuffle(y, {1, 1, 0});
            }),
            "error: dimshuffle: axis 1 is taken twice\n"
            "  expected: every axis at most once\n"
            "  got:      y float64[2, n]");
  EXPECT_EQ(text_without_node([&] { squeeze(y, {1}); }),
            "error: dimshuffle: axis 1 cannot be dropped\n"
            "  expected: its length is known to be 1\n"
            "  got:      y float64[2, n]\n"
            "  hint:     an axis can be dropped only where its type says that the length is 1");
  EXPECT_EQ(text_without_node([&] { expand_dims(y, {4}); }),
            "error: expand_dims: there is no axis 4\n"
            "  expected: an axis from -3 to 2\n"
            "  got:      y float64[2, n]");
  EXPECT_EQ(text_without_node([&] { length(y, 2); }),
            "error: length: there is no axis 2\n"
            "  expected: an axis from -2 to 1\n"
            "  got:      y float64[2, n]");
  EXPECT_EQ(text_without_node([&] {
              join(0, {y, tensor("z", {1, 2, 3}, DType::kFloat64)});
            }),
            "error: join: value 1 has another number of axes\n"
            "  expected: 2 axes\n"
            "  got:      y float64[2, n], z float64[1, 2, 3]");
  EXPECT_EQ(text_without_node([&] {
              join(1, {y, tensor("z", {3, 3}, DType::kFloat64)});
            }),
            "error: join: value 1 has another length of axis 0\n"
            "  expected: 2 == 3\n"
            "  got:      y float64[2, n], z float64[3, 3]");
  EXPECT_EQ(text_without_node([&] {
              join(0, {tensor("a", {2}, DType::kInt64), tensor("b", {2}, DType::kUInt64)});
            }),
            "error: join: the dtypes have no common dtype\n"
            "  expected: int64\n"
            "  got:      b uint64[2]\n"
            "  hint:     cast one of them");
}

TEST(ShapeTypes, BroadcastingIsDecidedByTheTypes) {
  Expr row = tensor("row", {1, 784}, DType::kFloat32);
  EXPECT_EQ(text(broadcast_like(row, x)), "float32[batch, 784]");
  EXPECT_EQ(layout_of(broadcast_like(row, x), row_major(row.dims())), "0, 1 + 0");
  // A length of 1 that only the call decides is an ordinary length.
  Expr open = tensor("open", {"n"}, DType::kFloat32);
  Expr wide = broadcast_to(open, {7});
  EXPECT_EQ(text_without_node([&] {
              evaluate({wide}, {{open, Tensor::zeros(DType::kFloat32, {1})}});
            }),
            "error: broadcast_to: a length differs, and is not known to be 1\n"
            "  expected: [7]\n"
            "  got:      [1]");
}

TEST(ShapeTypes, ALengthNeedsNoValue) {
  Expr n = length(exp(x), 0);
  EXPECT_TRUE(n.node().inputs.empty());
  EXPECT_EQ(symbolic_value(n)->text(), "batch");
  EXPECT_EQ(constant_value(length(x, -1))->as_int(), 784);
  EXPECT_EQ(symbolic_value(size(x))->text(), "784*batch");
  EXPECT_EQ(shape(x).size(), 2u);
  EXPECT_EQ(dims_text(shape_dims(x)), "batch, 784");
}

TEST(ShapeTypes, ZerosAreAViewOfOneNumber) {
  Expr zero = zeros_like(x);
  EXPECT_EQ(text(zero), "float32[batch, 784]");
  EXPECT_EQ(constant_number(zero.node().inputs[0]), 0.0);
  EXPECT_EQ(layout_of(zero, row_major({})), "0, 0 + 0");
  EXPECT_EQ(ones({2}).dtype(), floatX());
  EXPECT_EQ(ones({2}, DType::kInt8).dtype(), DType::kInt8);
  EXPECT_EQ(full({2, 2}, 3).dtype(), DType::kInt64);
  EXPECT_EQ(full_like(x, 2).dtype(), DType::kFloat32);
  EXPECT_EQ(text(zeros({iscalar("i"), 2}, DType::kFloat32)), "float32[@i, 2]");
  EXPECT_EQ(text_without_node([] { full({2}, x); }),
            "error: full: the value has axes\n"
            "  expected: a scalar\n"
            "  got:      x float32[batch, 784]\n"
            "  hint:     broadcast_to repeats it");
  EXPECT_EQ(text_without_node([] { zeros({-1}); }),
            "error: broadcast_to: the length -1 is negative\n"
            "  expected: lengths of at least 0\n"
            "  got:      float64[]");
}

TEST(ShapeTypes, ArangeOfLengths) {
  EXPECT_EQ(text(arange(length(x, 0))), "int64[batch]");
  EXPECT_EQ(text(arange(1, length(x, 0), 2)), "int64[floor_div(batch, 2)]");
  Expr computed = take(tensor("v", {3}, DType::kFloat64), 0);
  EXPECT_EQ(text_without_node([&] { arange(computed); }),
            "error: arange: the number of elements is not known before the graph runs\n"
            "  expected: floats that are constants\n"
            "  got:      float64[]\n"
            "  hint:     cast it to int64: arange of integers takes numbers that the graph computes");
  EXPECT_EQ(text_without_node([&] { arange(0, 5, take(tensor("i", {3}, DType::kInt64), 0)); }),
            "error: arange: the step is 0 or not known\n"
            "  expected: a constant, but not 0\n"
            "  got:      int64[]\n"
            "  hint:     arange(count) * step + start takes any step");
  EXPECT_EQ(text_without_node([&] { arange(0, 5, 0); }),
            "error: arange: the step is 0 or not known\n"
            "  expected: a constant, but not 0\n"
            "  got:      int64[]");
  EXPECT_EQ(text_without_node([&] { arange(0.0, 5.0, 0.0); }),
            "error: arange: the number of elements is not finite\n"
            "  expected: a finite start and stop, a step that is not 0\n"
            "  got:      start 0, stop 5, step 0");
}

TEST(ShapeTypes, LengthsThatCannotBeNegative) {
  for (const char* length : {"n", "2*n + m", "max(0, n - 3)", "max(0, @i~3 - 2) + n", "min(n, 3)*m",
                             "floor_div(n + 1, 2)", "max(min(0, @i~3), max(0, n - m))"})
    EXPECT_TRUE(is_nonnegative(*Dim::parse(length))) << length;
  EXPECT_TRUE(is_nonnegative(max(Dim(0) - Dim("n"), 0)));
  for (const char* length :
       {"n - 1", "@i~3", "max(@i~3, n - 1) - 1", "min(n, @i~3)", "floor_div(n - 3, 2)", "max(0, n) - 1"})
    EXPECT_FALSE(is_nonnegative(*Dim::parse(length))) << length;
}

TEST(ShapeTypes, JoinPromotes) {
  Expr a = tensor("a", {2}, DType::kInt32), b = tensor("b", {3}, DType::kFloat32);
  EXPECT_EQ(text(join(0, {a, b})), "float32[5]");
  EXPECT_EQ(text(stack({tensor("s", {}, DType::kFloat32), 1}, 0)), "float32[2]");
  EXPECT_EQ(text(concatenate({x, x})), "float32[2*batch, 784]");
  EXPECT_EQ(text(stack({x, x, x}, -1)), "float32[batch, 784, 3]");
}

}  // namespace
}  // namespace thtrain::shape_types_test
