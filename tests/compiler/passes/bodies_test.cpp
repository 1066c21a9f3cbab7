// A pass in the bodies of loops and branches, and in theirs.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"

namespace thtrain {
namespace {

// exp becomes sin.
Graph sines(const Graph& graph, const PassContext&) {
  return rewrite_graph(graph, [](const Node& node, const std::vector<Expr>& inputs) {
    return node.op && node.op->name == "exp" ? std::vector<Expr>{sin(inputs[0])} : std::vector<Expr>();
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
  const Graph inside = map_bodies(graph, [](const Graph& body) { return run_pass({"sines", "", sines}, body, {}); });
  EXPECT_EQ(count(inside, "exp"), 1u) << "that of the graph itself";
  EXPECT_EQ(count(inside, "sin"), 2u);
  EXPECT_EQ(count(sines(graph, {}), "exp"), 2u);
  EXPECT_EQ(count(run_pass({"sines", "", sines}, graph, {}), "exp"), 0u);
}

TEST(Bodies, AGraphWithoutThemStaysAsItIs) {
  const Expr x = vector("x", {3});
  const Graph graph{.inputs = {x}, .outputs = {exp(x)}, .updates = {}};
  EXPECT_FALSE(has_bodies(graph));
  const auto change = [](const Graph& body) { return sines(body, {}); };
  EXPECT_TRUE(map_bodies(graph, change).outputs[0].same(graph.outputs[0]));
}

}  // namespace
}  // namespace thtrain
