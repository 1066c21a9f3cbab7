#include "compiler/passes/drop_gradient_ops.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

Graph drop_gradient_ops(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::none_of(order, [](const Node* node) { return node->op->only_derivatives; })) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!node.op->only_derivatives) return {};
    context.note("drop_gradient_ops", node.op->name, node[0], inputs[0], Safety::kExact);
    return {inputs[0]};
  });
}

}  // namespace thtrain
