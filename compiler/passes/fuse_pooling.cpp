#include "compiler/passes/fuse_pooling.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/pool/pooled_conv.h"

namespace thtrain {
namespace {

class PoolingFuser {
 public:
  PoolingFuser(const Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), order_(topological_order(graph.roots())), readers_(order_) {
    for (const Expr& root : graph.roots()) returned_.insert(&root.node());
  }

  Graph run() {
    for (const Node* node : order_)
      if (is_pooling(*node) && pools_in_one_walk(*node)) found_.insert(node);
    const bool has_bodies = std::any_of(order_.begin(), order_.end(), has_body);
    if (found_.empty() && !has_bodies) return graph_;
    Rebuilder rebuilder;
    return map_roots(graph_, [&](const Expr& root) {
      return rebuilder.rebuild(root, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
        InheritOrigin origin(node.origin);
        if (found_.count(&node)) return {fused(node, inputs[0].node())};
        return has_body(&node) ? with_bodies(node, inputs) : std::vector<Expr>();
      });
    });
  }

 private:
  static bool has_body(const Node* node) { return !node->bodies.empty() && !node->op->fused; }

  // The convolution below it, if the pooling alone reads its result.
  bool pools_in_one_walk(const Node& pooling) const {
    const Node& below = pooling.inputs[0].node();
    return below.op->epilogue && readers_.of(below).size() == 1 && !returned_.count(&below) &&
           is_pooled_in_one_walk(below, pooling, *context_.chooser);
  }

  static Expr fused(const Node& pooling, const Node& conv) {
    auto body = std::make_shared<Graph>();
    for (const Expr& input : conv.inputs) body->inputs.push_back(make_input(input.type(), input.name()));
    const std::shared_ptr<const Node> inner = clone_with_inputs(conv, body->inputs, {});
    body->outputs = {Expr(clone_with_inputs(pooling, {Expr(inner, 0)}, {}), 0)};
    return Expr(make_pooled_conv(std::move(body), conv.inputs), 0);
  }

  std::vector<Expr> with_bodies(const Node& node, const std::vector<Expr>& inputs) const {
    std::vector<GraphPtr> bodies;
    for (const GraphPtr& body : node.bodies)
      bodies.push_back(std::make_shared<const Graph>(fuse_pooling(*body, context_)));
    const std::shared_ptr<const Node> made = clone_with_inputs(node, inputs, std::move(bodies));
    std::vector<Expr> out;
    for (size_t i = 0; i < made->types.size(); ++i) out.emplace_back(made, i);
    return out;
  }

  const Graph& graph_;
  const PassContext& context_;
  const std::vector<const Node*> order_;
  const Readers readers_;
  std::unordered_set<const Node*> returned_, found_;
};

}  // namespace

Graph fuse_pooling(const Graph& graph, const PassContext& context) {
  return context.chooser ? PoolingFuser(graph, context).run() : graph;
}

}  // namespace thtrain
