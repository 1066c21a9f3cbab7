#include "compiler/passes/read_starts.h"

#include "compiler/ir/lengths.h"
#include "compiler/ops/index/strided_slice.h"

namespace thtrain {

// The scalars whose values lengths may name. An input that is a start alone is read by no node.
static NamedScalars scalars_of(const Graph& graph) {
  std::vector<Expr> leaves = leaves_of(graph.roots());
  leaves.insert(leaves.end(), graph.inputs.begin(), graph.inputs.end());
  NamedScalars out;
  for (const Expr& leaf : leaves)
    if (leaf.type().is_scalar() && is_int(leaf.dtype())) out.emplace(value_name(leaf.node()), leaf);
  return out;
}

Graph read_starts(const Graph& graph, const PassContext& context) {
  if (!context.target.replays_calls) return graph;
  const NamedScalars scalars = scalars_of(graph);
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    InheritOrigin origin(node.origin);
    const Expr out = with_read_starts(node, inputs, scalars);
    if (!out.has_value()) return {};
    context.note("read_starts", node.op->name, node[0], out, Safety::kExact);
    return {node.name.empty() ? out : named(out, node.name)};
  });
}

}  // namespace thtrain
