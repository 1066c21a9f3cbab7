#include "compiler/passes/inline_calls.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/op_from_graph.h"

namespace thtrain {
namespace {

bool is_elementwise(const Node& node) {
  if (node.is_leaf() || node.op == &constant_op() || node.op->scalar) return true;
  return node.types.size() == 1 && is_view(node[0]);
}

bool is_inlined(const Node& node) {
  if (node.op != &graph_call_op() && node.op != &graph_call_with_tangents_op()) return false;
  const Graph& body = *node.bodies[0];
  if (!body.effects.empty() || carries_token(body)) return false;
  return node.props.get_or("inlined", false) ||
         std::ranges::all_of(topological_order(body.outputs), [](const Node* n) { return is_elementwise(*n); });
}

}  // namespace

Graph inline_calls(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::none_of(order, [](const Node* node) { return is_inlined(*node); })) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!is_inlined(node)) return {};
    const Graph& body = *node.bodies[0];
    std::vector<std::pair<Expr, Expr>> values;
    for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(body.inputs[i], inputs[i]);
    std::vector<Expr> out = substitute(body.outputs, values);
    for (size_t o = 0; o < out.size(); ++o)
      context.note("inline_calls", node.op->name, node[o], out[o], Safety::kExact);
    return out;
  });
}

}  // namespace thtrain
