// Calls of graphs that become their graphs before the others passes see them.
#include "compiler/passes/inline_calls.h"

#include <gtest/gtest.h>

#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/op_from_graph.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/passes/pass.h"

namespace thtrain::inline_calls_test {
namespace {

using Values = std::vector<Expr>;

Expr call(const GraphBuilder& build, const Values& arguments, bool inlined) {
  return OpFromGraph(build, GraphOpOptions{.inlined = inlined})(arguments)[0];
}

Values tanh_of_product(const Values& in) {
  return {tanh(in[0] * in[1])};
}
Values share_of_sum(const Values& in) {
  return {in[0] / sum(in[0])};
}

TEST(InlineCalls, ACallOfElementwiseOperationsBecomesThem) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  const Graph before{{x, y}, {call(tanh_of_product, {x + 1, y}, false) * y}, {}};
  const Graph after = inline_calls(before, {});
  EXPECT_EQ(graph_text(after), graph_text({{x, y}, {tanh((x + 1) * y) * y}, {}}));
  const std::vector<std::pair<Expr, Tensor>> values{{x, Tensor::vector({0.5, -1.0, 2.0})},
                                                    {y, Tensor::vector({1.0, 3.0, 0.25})}};
  EXPECT_TRUE(same_bits(evaluate(before.outputs, values)[0], evaluate(after.outputs, values)[0]));
}

TEST(InlineCalls, AnotherCallBecomesItsGraphWhereTheUserAsks) {
  const Expr x = vector("x", {3});
  const Graph inlined{{x}, {call(share_of_sum, {call(share_of_sum, {x}, true)}, true)}, {}};
  const Expr share = x / sum(x);
  EXPECT_EQ(graph_text(inline_calls(inlined, {})), graph_text({{x}, {share / sum(share)}, {}}));
  const Graph called{{x}, {call(share_of_sum, {x}, false)}, {}};
  EXPECT_TRUE(inline_calls(called, {}).outputs[0].same(called.outputs[0]));
}

TEST(InlineCalls, WhatPrintsStaysACall) {
  const Expr x = vector("x", {3});
  const Graph graph{{x}, {call([](const Values& in) { return Values{print(exp(in[0]), "e")}; }, {x}, true)}, {}};
  EXPECT_TRUE(inline_calls(graph, {}).outputs[0].same(graph.outputs[0]));
}

}  // namespace
}  // namespace thtrain::inline_calls_test
