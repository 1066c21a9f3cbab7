#include "compiler/passes/choose_gradients.h"

#include <algorithm>

#include "compiler/ops/control/stable_gradient.h"

namespace thtrain {

Graph choose_gradients(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::none_of(order, [](const Node* node) { return node->op == &stable_gradient_op(); })) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != &stable_gradient_op()) return {};
    const bool plain = context.level == Level::kStrict;
    context.note("choose_gradients", plain ? "plain_gradient" : "stable_gradient", node[0], inputs[plain ? 0 : 1],
                 plain ? Safety::kExact : Safety::kRangeChanging);
    return {inputs[plain ? 0 : 1]};
  });
}

}  // namespace thtrain
