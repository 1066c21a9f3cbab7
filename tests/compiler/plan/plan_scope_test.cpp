// What the planner knows of one graph's values.
#include "compiler/plan/plan_scope.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {
namespace {

bool is_dead_after(PlanScope& scope, int buffer, size_t position) {
  scope.position = position;
  return scope.is_dead(buffer);
}

TEST(PlanScope, ABufferLivesAsLongAsTheScopesAroundReadIt) {
  const Expr x = vector("x", {4}), y = exp(x);
  const Graph graph{.inputs = {x}, .outputs = {y}, .updates = {}};
  PlanScope outer(graph, nullptr);
  outer.set(y, {7, y.type(), row_major(y.dims())});
  outer.value(y).last_reader = 3;
  PlanScope body(graph, &outer);
  outer.position = 2;
  EXPECT_FALSE(body.is_dead(7));
  outer.position = 3;
  EXPECT_TRUE(body.is_dead(7));
}

TEST(PlanScope, ABufferIsDeadOnceAllOfItsValuesWereReadForTheLastTime) {
  const Expr x = vector("x", {4}), y = exp(x), z = tanh(x);
  const Graph graph{.inputs = {x}, .outputs = {y, z}, .updates = {}};
  PlanScope scope(graph, nullptr);
  scope.set(y, {7, y.type(), row_major(y.dims())});
  scope.set(z, {7, z.type(), row_major(z.dims())});
  scope.value(y).last_reader = 2;
  scope.value(z).last_reader = 5;
  EXPECT_FALSE(is_dead_after(scope, 7, 4));
  EXPECT_TRUE(is_dead_after(scope, 7, 5));
  EXPECT_TRUE(is_dead_after(scope, 8, 0)) << "nothing lies in this buffer";
  scope.value(z).last_reader = PlanScope::kForever;
  EXPECT_FALSE(is_dead_after(scope, 7, 1000));
}

TEST(PlanScope, ACopyKeepsItsBufferAsLongAsTheValueIsRead) {
  const Expr x = vector("x", {4}), y = exp(x);
  const Graph graph{.inputs = {x}, .outputs = {y}, .updates = {}};
  PlanScope scope(graph, nullptr);
  scope.set(y, {0, y.type(), row_major(y.dims())});
  scope.value(y).last_reader = 3;
  scope.set_copy(y, 1);
  EXPECT_EQ(scope.value(y).copy, 1);
  EXPECT_FALSE(is_dead_after(scope, 1, 2));
  EXPECT_TRUE(is_dead_after(scope, 1, 3));
}

TEST(PlanScope, AValueThatNothingReadsIsNotUsed) {
  const Expr x = vector("x", {4}), y = exp(x);
  const Graph graph{.inputs = {x}, .outputs = {}, .updates = {}};
  PlanScope scope(graph, nullptr);
  EXPECT_FALSE(scope.is_used(y));
  scope.value(y).is_read = true;
  EXPECT_TRUE(scope.is_used(y));
  EXPECT_THROW(scope.view_of(y), InternalError) << "it is not computed yet";
}

}  // namespace
}  // namespace thtrain
