#include "compiler/passes/choose_gradients.h"

#include <algorithm>

#include "compiler/ops/control/stable_gradient.h"

namespace thtrain {

static bool has_gradients(const Graph& graph) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  return std::any_of(order.begin(), order.end(), [](const Node* node) {
    return node->op == &stable_gradient_op() || std::any_of(node->bodies.begin(), node->bodies.end(),
                                                            [](const GraphPtr& body) { return has_gradients(*body); });
  });
}

Graph choose_gradients(const Graph& graph, const PassContext& context) {
  if (!has_gradients(graph)) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != &stable_gradient_op()) return {};
    const bool plain = context.level == Level::kStrict;
    context.note("choose_gradients", plain ? "plain_gradient" : "stable_gradient", node[0], inputs[plain ? 0 : 1],
                 plain ? Safety::kExact : Safety::kRangeChanging);
    return {inputs[plain ? 0 : 1]};
  });
}

}  // namespace thtrain
