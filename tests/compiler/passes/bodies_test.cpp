// A pass in the bodies of loops and branches, and in theirs.
#include "compiler/passes/bodies.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

// exp becomes sin, in this graph and in the bodies of its nodes.
Graph sines(const Graph& graph, const PassContext& context) {
  Rebuilder rebuilder;
  const Graph inner = in_bodies(graph, sines, context);
  return map_roots(inner, [&](const Expr& root) {
    return rebuilder.rebuild(root, [](const Node& node, const std::vector<Expr>& inputs) {
      return node.op && node.op->name == "exp" ? std::vector<Expr>{sin(inputs[0])} : std::vector<Expr>();
    });
  });
}

size_t count(const Graph& graph, const std::string& op) {
  size_t out = 0;
  for (const Node* node : topological_order(graph.roots())) {
    out += node->op && node->op->name == op;
    for (const GraphPtr& body : node->bodies) out += count(*body, op);
  }
  return out;
}

TEST(Bodies, APassIsRunInBodiesOfBodies) {
  const Expr x = matrix("x", {3, 2});
  const Expr y =
      scan(
          [](Expr row) {
            const Expr inner =
                reduce([](Expr e, Expr s) { return s * exp(e); }, {.sequences = {row}, .outputs_info = {1.0}}).outputs;
            return if_else(
                gt(inner, 1), [&] { return exp(inner); }, [&] { return inner; });
          },
          {.sequences = {x}})
          .outputs;
  const Graph graph{.inputs = {x}, .outputs = {y + exp(sum(x))}, .updates = {}};
  EXPECT_TRUE(has_bodies(graph));
  EXPECT_EQ(count(graph, "exp"), 3u);
  const Graph inside = in_bodies(graph, sines, {});
  EXPECT_EQ(count(inside, "exp"), 1u) << "that of the graph itself";
  EXPECT_EQ(count(inside, "sin"), 2u);
  EXPECT_EQ(count(sines(graph, {}), "exp"), 0u);
}

TEST(Bodies, AGraphWithoutThemStaysAsItIs) {
  const Expr x = vector("x", {3});
  const Graph graph{.inputs = {x}, .outputs = {exp(x)}, .updates = {}};
  EXPECT_FALSE(has_bodies(graph));
  EXPECT_TRUE(in_bodies(graph, sines, {}).outputs[0].same(graph.outputs[0]));
}

}  // namespace
}  // namespace thtrain
