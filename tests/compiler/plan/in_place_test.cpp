// What may be computed over what.
#include "compiler/plan/in_place.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/shared.h"

namespace thtrain {
namespace {

struct InPlaceTest : testing::Test {
  Shared v{Tensor::zeros(DType::kFloat64, {4, 4}), "v"};

  std::vector<Expr> chain(const Expr& value, const std::vector<Expr>& outputs = {}) {
    Graph graph{{}, outputs, {{v, value}}};
    std::vector<Expr> roots = graph.roots();
    std::unordered_set<const Node*> returned;
    for (const Expr& root : roots) returned.insert(&root.node());
    return values_in_place(graph.updates[0], Readers(topological_order(roots)), returned);
  }
};

TEST_F(InPlaceTest, AChainOfLoopsIsOneOverTheOther) {
  Expr first = exp(v.expr()), second = tanh(first), third = second + 1.0;
  std::vector<Expr> values = chain(third);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_TRUE(values[0].same(third));
  EXPECT_TRUE(values[1].same(second));
  EXPECT_TRUE(values[2].same(first));
}

TEST_F(InPlaceTest, WhatIsReturnedOrReadTwiceEndsTheChain) {
  Expr first = exp(v.expr()), second = tanh(first);
  EXPECT_EQ(chain(second, {first}).size(), 1u);
  EXPECT_EQ(chain(second, {sqr(first)}).size(), 1u);
  EXPECT_EQ(chain(dot(first, first) + first).size(), 2u) << "the product reads both factors until it is whole";
}

TEST_F(InPlaceTest, AViewIsNoValueOfItsOwn) {
  EXPECT_TRUE(chain(transpose(exp(v.expr()))).empty());
}

TEST_F(InPlaceTest, AnElementIsReadBeforeItIsWrittenOnlyInItsOwnLocation) {
  Expr loop = exp(v.expr()), turned = exp(transpose(v.expr())), product = dot(v.expr(), v.expr());
  const Node& variable = v.expr().node();
  EXPECT_TRUE(can_update_in_place(loop.node(), 0, variable));
  EXPECT_FALSE(can_update_in_place(turned.node(), 0, variable));
  EXPECT_FALSE(can_update_in_place(product.node(), 0, variable));
  EXPECT_TRUE(can_update_in_place(exp(matrix("x", {4, 4})).node(), 0, variable));
}

TEST_F(InPlaceTest, AValueOfAnotherTypeIsNotOverwritten) {
  Expr row = vector("r", {4}), sum = v.expr() + row;
  EXPECT_TRUE(may_overwrite(sum.node(), 0, 0));
  Expr narrow = cast(v.expr(), DType::kFloat32);
  EXPECT_FALSE(may_overwrite(narrow.node(), 0, 0));
  EXPECT_FALSE(may_overwrite(dot(v.expr(), v.expr()).node(), 0, 0));
}

}  // namespace
}  // namespace thtrain
