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

Graph fuse_scatters(const Graph& graph, const PassContext& context) {
  const std::vector<Expr> roots = graph.roots();
  const std::vector<const Node*> order = topological_order(roots);
  auto concerns = [](const Node* node) { return node->op->scatter || (!node->bodies.empty() && !node->op->fused); };
  if (std::none_of(order.begin(), order.end(), concerns)) return graph;
  const Readers readers(order);
  std::unordered_set<const Node*> returned;
  for (const Expr& root : roots) returned.insert(&root.node());

  Rebuilder::Rewrite rewrite = [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    const bool is_loop = loop_of(node, readers, returned) != nullptr;
    if (!is_loop && (node.bodies.empty() || node.op->fused)) return {};
    InheritOrigin origin(node.origin);
    std::vector<GraphPtr> bodies;
    for (const GraphPtr& body : node.bodies)
      bodies.push_back(std::make_shared<const Graph>(fuse_scatters(*body, context)));
    std::shared_ptr<const Node> made = clone_with_inputs(node, inputs, std::move(bodies));
    if (is_loop) made = make_fused_scatter(*made, inputs[kScattered].node());
    std::vector<Expr> out;
    for (size_t i = 0; i < made->types.size(); ++i) out.emplace_back(made, i);
    return out;
  };
  Rebuilder rebuilder;
  return map_roots(graph, [&](const Expr& root) { return rebuilder.rebuild(root, rewrite); });
}

}  // namespace thtrain
