#include "compiler/passes/fuse_elementwise.h"

#include <gtest/gtest.h>

#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/constant_fold.h"
#include "compiler/passes/merge.h"

namespace thtrain {
namespace {

Graph fused(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs) {
  Graph after = fuse_elementwise({inputs, outputs, {}}, {});
  verify(after, "fuse_elementwise");
  return after;
}

size_t loops(const Graph& graph) {
  size_t out = 0;
  for (const Node* node : topological_order(graph.roots())) out += node->op->name == "fused";
  return out;
}

TEST(FuseElementwise, AChainIsOneLoop) {
  Expr x = vector("x");
  EXPECT_EQ(loops(fused({x}, {exp(tanh(x) * 2 + 1)})), 1u);
}

TEST(FuseElementwise, SeveralOutputsOfOneLoop) {
  Expr x = vector("x");
  Expr y = exp(x);
  EXPECT_EQ(loops(fused({x}, {y + 1, y * 2, y})), 1u) << "siblings that read the same value share a loop";
  EXPECT_EQ(loops(fused({x}, {x + 1, x * 2})), 2u) << "siblings that only share an input are loops of their own";
  EXPECT_EQ(loops(fused({x}, {y + 1, y})), 1u);
}

TEST(FuseElementwise, NoWayOutAndBack) {
  // exp(x) is read by the sum and by what the sum is subtracted from: one loop would need its own result.
  Expr x = vector("x");
  Expr y = exp(x);
  Graph after = fused({x}, {y / sum(y)});
  EXPECT_EQ(loops(after), 2u);
}

TEST(FuseElementwise, OtherLengthsAreAnotherLoop) {
  Expr x = matrix("x"), b = vector("b");
  Graph after = fused({x, b}, {tanh(x) + exp(b)});
  EXPECT_EQ(loops(after), 2u);
}

TEST(FuseElementwise, TwiceChangesNothing) {
  Expr x = vector("x");
  Graph once = fused({x}, {exp(x) + 1});
  EXPECT_TRUE(same_graph(once, fuse_elementwise(once, {})));
}

TEST(Merge, EqualExpressionsBecomeOne) {
  Expr x = vector("x");
  Graph after = merge({{x}, {exp(x) + exp(x)}, {}}, {});
  EXPECT_EQ(topological_order(after.roots()).size(), 3u);
}

TEST(ConstantFold, ComputesWhatConstantsDecide) {
  Expr x = vector("x");
  Expr two = make_constant(Tensor(2.0));
  Graph after = constant_fold({{x}, {x * exp(two)}, {}}, {});
  EXPECT_EQ(topological_order(after.roots()).size(), 3u);
  Expr factor = after.outputs[0].node().inputs[1];
  EXPECT_EQ(constant_number(factor), std::exp(2.0));
}

TEST(ConstantFold, LeavesLongResults) {
  Expr ones_of = ones({5000});
  Graph after = constant_fold({{}, {exp(ones_of)}, {}}, {});
  EXPECT_FALSE(is_constant(after.outputs[0]));
}

}  // namespace
}  // namespace thtrain
