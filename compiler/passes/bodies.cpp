#include "compiler/passes/bodies.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

static bool has_bodies(const Node* node) {
  return !node->bodies.empty() && !node->op->fused;
}

bool has_bodies(const Graph& graph) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  return std::any_of(order.begin(), order.end(), [](const Node* node) { return has_bodies(node); });
}

Graph in_bodies(const Graph& graph, Graph (*pass)(const Graph&, const PassContext&), const PassContext& context) {
  if (!has_bodies(graph)) return graph;
  Rebuilder rebuilder;
  const Rebuilder::Rewrite rewrite = [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!has_bodies(&node)) return {};
    InheritOrigin origin(node.origin);
    std::vector<GraphPtr> bodies;
    for (const GraphPtr& body : node.bodies) bodies.push_back(std::make_shared<const Graph>(pass(*body, context)));
    const std::shared_ptr<const Node> made = clone_with_inputs(node, inputs, std::move(bodies));
    std::vector<Expr> out;
    for (size_t o = 0; o < made->types.size(); ++o) out.emplace_back(made, o);
    return out;
  };
  return map_roots(graph, [&](const Expr& root) { return rebuilder.rebuild(root, rewrite); });
}

}  // namespace thtrain
