#include "compiler/passes/fuse_matvec_update.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/loop_form.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

// The array that a reducing node reads, such as the matrix of a product with a vector.
std::optional<Expr> reduced_array(const Node& node) {
  if (!node.op->loop_form) return std::nullopt;
  std::optional<Expr> array = node.op->loop_form->array(node);
  return array && node.types[0].dims != array->dims() ? array : std::nullopt;
}

class SiblingExpander {
 public:
  SiblingExpander(const Graph& graph, const PassContext& context, const std::vector<const Node*>& order)
      : graph_(graph), context_(context), order_(order), readers_(order_) {
    position_.reserve(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) position_.try_emplace(order_[i], i);
  }

  Graph run() {
    for (const Node* node : order_)
      if (const std::optional<Expr> array = reduced_array(*node))
        if (const Node* sibling = elementwise_sibling(*node, *array)) {
          found_.try_emplace(node);
          if (sibling->op->loop_form) found_.try_emplace(sibling);
        }
    if (found_.size() == 0) return graph_;
    return rewrite_graph(graph_, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
      if (!found_.contains(&node)) return {};
      InheritOrigin origin(node.origin);
      const LoopForm& form = *node.op->loop_form;
      Expr out = form.expand(inputs);
      context_.note("fuse_matvec_update", form.name, node[0], out);
      return {node.name.empty() ? out : named(out, node.name)};
    });
  }

 private:
  // A node that computes an element for each of the array, and runs before or after `node` as one likes.
  const Node* elementwise_sibling(const Node& node, const Expr& array) const {
    if (!exceeds_cache(array.type(), context_.target.fusion_limits())) return nullptr;
    for (const Node* reader : readers_.of(array.node())) {
      if (reader->types[0].dims != array.dims()) continue;
      const LoopForm* form = reader->op->loop_form;
      const std::optional<Expr> read = form ? form->array(*reader) : std::nullopt;
      const bool has_loop = read ? read->same(array) : has_scalar_code(*reader);
      if (has_loop && !needs(*reader, node) && !needs(node, *reader)) return reader;
    }
    return nullptr;
  }

  // Is `value` computed from `from`? Where that takes too many nodes to tell, the answer is yes.
  bool needs(const Node& value, const Node& from) const {
    constexpr size_t kMaxNodes = 400;
    const size_t first = position_.at(&from);
    std::vector<const Node*> seen{&value};
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == &from || seen.size() > kMaxNodes) return true;
      for (const Expr& e : seen[i]->inputs)
        if (position_.at(&e.node()) >= first && std::find(seen.begin(), seen.end(), &e.node()) == seen.end())
          seen.push_back(&e.node());
    }
    return false;
  }

  const Graph& graph_;
  const PassContext& context_;
  const std::vector<const Node*>& order_;
  const Readers readers_;
  NodeMap<size_t> position_;
  NodeMap<bool> found_;
};

}  // namespace

Graph fuse_matvec_update(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  const bool any = std::any_of(order.begin(), order.end(), [](const Node* node) { return reduced_array(*node); });
  return any ? SiblingExpander(graph, context, order).run() : graph;
}

}  // namespace thtrain
