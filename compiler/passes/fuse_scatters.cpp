#include "compiler/passes/fuse_scatters.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/index/fused_scatter.h"
#include "compiler/ops/index/scatter.h"

namespace thtrain {
namespace {

bool is_plain_loop(const Node& node) {
  if (node.op != &fused_op() || node.types.size() != 1 || node.inputs.empty() || is_complex(node.types[0].dtype))
    return false;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (access_of(node, i) != Access::kElement) return false;
  return true;
}

// The loop that can store the elements of this scatter; null: none.
const Node* loop_of(const Node& scatter, const Readers& readers, const std::unordered_set<const Node*>& returned) {
  if (!scatter.op->scatter) return nullptr;
  const Node& loop = scatter.inputs[kScattered].node();
  if (!is_plain_loop(loop) || readers.of(loop).size() != 1 || returned.count(&loop)) return nullptr;
  const Node* target = root_of(scatter.inputs[0]);
  const bool reads_target =
      std::any_of(loop.inputs.begin(), loop.inputs.end(), [&](const Expr& e) { return root_of(e) == target; });
  return reads_target ? nullptr : &loop;
}

}  // namespace

Graph fuse_scatters(const Graph& graph, const PassContext&) {
  const std::vector<Expr> roots = graph.roots();
  const std::vector<const Node*> order = topological_order(roots);
  if (std::none_of(order.begin(), order.end(), [](const Node* node) { return node->op->scatter; })) return graph;
  const Readers readers(order);
  std::unordered_set<const Node*> returned;
  for (const Expr& root : roots) returned.insert(&root.node());
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!loop_of(node, readers, returned)) return {};
    InheritOrigin origin(node.origin);
    const std::shared_ptr<const Node> scatter = clone_with_inputs(node, inputs, {});
    return {Expr(make_fused_scatter(*scatter, inputs[kScattered].node()), 0)};
  });
}

}  // namespace thtrain
