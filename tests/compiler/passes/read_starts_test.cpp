// Slices whose starts become operands, where a target replays calls.
#include "compiler/passes/read_starts.h"

#include <gtest/gtest.h>

#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/strided_slice.h"

namespace thtrain::read_starts_test {
namespace {

const Expr x = tensor("x", {6, 4}, DType::kFloat32), start = iscalar("start"), other = iscalar("other");

// The axes whose start is an operand, behind the inputs of the node before.
Ints given(const Expr& part, bool replays = true) {
  const Graph before{.inputs = {x, start, other}, .outputs = {part}, .updates = {}};
  PassContext context;
  context.target.replays_calls = replays;
  const Graph after = read_starts(before, context);
  const Node& node = after.outputs[0].node();
  EXPECT_EQ(node.types, part.node().types);
  const Ints out = StridedSlice::of(node).given;
  EXPECT_EQ(after.outputs[0].same(part), out.empty());
  EXPECT_EQ(node.inputs.size(), part.node().inputs.size() + out.size());
  return out;
}

TEST(ReadStarts, OfRowsIndicesAndWrittenParts) {
  EXPECT_EQ(given(rows(x, start, 2)), Ints{0});
  EXPECT_EQ(given(slice_axis(x, 1, start, 2)), Ints{1});
  EXPECT_EQ(given(x[{start, other}]), (Ints{0, 1}));
  EXPECT_EQ(given(x[{Slice{1, 3}, other}]), Ints{1});
  EXPECT_EQ(given(set_subtensor(rows(x, start, 2), rows(x, 1, 2))), Ints{0});
  EXPECT_EQ(given(inc_subtensor(x[start], x[0])), Ints{0});
}

TEST(ReadStarts, Stay) {
  EXPECT_EQ(given(rows(x, start, 2), false), Ints()) << "a target that does not replay";
  EXPECT_EQ(given(rows(x, 3, 2)), Ints()) << "a known start";
  EXPECT_EQ(given(x[Slice{.start = start}]), Ints()) << "its length changes";
  EXPECT_EQ(given(rows(x, start + 1, 2)), Ints()) << "computed by the entry";
}

}  // namespace
}  // namespace thtrain::read_starts_test
