#include "compiler/passes/drop_gradient_ops.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

static bool has_any(const Graph& graph) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  return std::any_of(order.begin(), order.end(), [](const Node* node) {
    return node->op->only_derivatives ||
           std::any_of(node->bodies.begin(), node->bodies.end(), [](const GraphPtr& body) { return has_any(*body); });
  });
}

Graph drop_gradient_ops(const Graph& graph, const PassContext& context) {
  if (!has_any(graph)) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!node.op->only_derivatives) return {};
    context.note("drop_gradient_ops", node.op->name, node[0], inputs[0], Safety::kExact);
    return {inputs[0]};
  });
}

}  // namespace thtrain
