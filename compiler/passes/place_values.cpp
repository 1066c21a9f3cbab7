#include "compiler/passes/place_values.h"

#include <algorithm>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/placement.h"

namespace thtrain {
namespace {

bool is_placement(const Node& node) {
  return node.op->place != Place::kAnywhere;
}

class ValuePlacer {
 public:
  ValuePlacer(const Graph& graph, const PassContext& context) : context_(context) {
    for (const Node* node : topological_order(graph.roots()))
      on_host_.try_emplace(node, lies_on_host(*node, [&](const Expr& input) { return on_host_.at(&input.node()); }));
  }

  Graph run(const Graph& graph) const {
    Graph out = rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
      if (is_placement(node) && is_there(node)) {
        context_.note("place_values", node.op->name, node[0], inputs[0], Safety::kExact);
        return {inputs[0]};
      }
      return on_host_.at(&node) && !is_placement(node) ? with_inputs_there(node, inputs) : std::vector<Expr>();
    });
    for (size_t k = 0; k < out.outputs.size(); ++k)
      if (is_view(graph.outputs[k])) copy_from_host(graph.outputs[k], out.outputs[k]);
    for (size_t u = 0; u < out.updates.size(); ++u) copy_from_host(graph.updates[u].value, out.updates[u].value);
    return out;
  }

 private:
  bool is_there(const Node& node) const {
    return (node.op->place == Place::kHost) == on_host_.at(&node.inputs[0].node());
  }

  std::vector<Expr> with_inputs_there(const Node& node, std::vector<Expr> inputs) const {
    const InheritOrigin inherit(node.origin);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Expr& before = node.inputs[i];
      if (!on_host_.at(&before.node()) && before.type().kind != TypeKind::kToken && !is_constant(before))
        inputs[i] = on_host(inputs[i]);
    }
    const std::shared_ptr<const Node> made = clone_with_inputs(node, std::move(inputs), node.bodies);
    std::vector<Expr> out;
    for (size_t o = 0; o < node.types.size(); ++o) out.emplace_back(made, o);
    return out;
  }

  void copy_from_host(const Expr& before, Expr& root) const {
    if (!on_host_.at(&before.node())) return;
    const InheritOrigin inherit(before.node().origin);
    root = on_device(root);
  }

  const PassContext& context_;
  NodeMap<bool> on_host_;  // by nodes of the graph as it was
};

}  // namespace

Graph place_values(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::none_of(order, [](const Node* node) { return is_placement(*node); })) return graph;
  if (context.target.is_device()) return ValuePlacer(graph, context).run(graph);
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!is_placement(node)) return {};
    context.note("place_values", node.op->name, node[0], inputs[0], Safety::kExact);
    return {inputs[0]};
  });
}

}  // namespace thtrain
