#include "compiler/passes/fuse_pooling.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "compiler/cpu/pool/pooled_conv.h"
#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"

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
      if (is_pooling(*node))
        if (std::optional<Walk> walk = walk_below(*node)) found_.try_emplace(node, std::move(*walk));
    if (found_.size() == 0) return graph_;
    return rewrite_graph(graph_, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
      const Walk* walk = found_.find(&node);
      return walk ? std::vector<Expr>{fused(node, *walk, inputs[0])} : std::vector<Expr>();
    });
  }

 private:
  // A convolution and the elementwise nodes between it and a pooling: the pooling and they alone read them. Readers
  // stand first.
  struct Walk {
    std::vector<const Node*> nodes;
    const Node* conv = nullptr;
  };

  static bool has(const Walk& walk, const Node* node) {
    return std::find(walk.nodes.begin(), walk.nodes.end(), node) != walk.nodes.end();
  }

  std::optional<Walk> walk_below(const Node& pooling) const {
    constexpr size_t kMostNodes = 32;
    Walk out;
    const Dims& domain = pooling.inputs[0].dims();
    const size_t width = size_of(pooling.inputs[0].dtype());
    auto joins = [&](const Node* node) {
      const bool is_read_here = !returned_.count(node) && out.nodes.size() < kMostNodes &&
                                std::all_of(readers_.of(*node).begin(), readers_.of(*node).end(), [&](const Node* r) {
                                  return r == &pooling || (has(out, r) && !r->op->epilogue);
                                });
      if (!is_read_here || node->types.size() != 1 || node->types[0].dims != domain) return false;
      if (node->op->epilogue) return !out.conv;
      return has_scalar_code(*node) && widest_of(*node) <= width && !is_complex(node->types[0].dtype);
    };
    // Readers stand behind what they read.
    for (size_t i = order_.size(); i-- > 0;) {
      const Node* node = order_[i];
      const bool is_below =
          node == &pooling.inputs[0].node() || std::any_of(out.nodes.begin(), out.nodes.end(), [&](const Node* reader) {
            return std::any_of(reader->inputs.begin(), reader->inputs.end(),
                               [&](const Expr& e) { return &e.node() == node; });
          });
      if (!is_below || !joins(node)) continue;
      out.nodes.push_back(node);
      if (node->op->epilogue) out.conv = node;
    }
    if (!out.conv || !is_pooled_in_one_walk(*out.conv, pooling, *context_.chooser)) return std::nullopt;
    return out;
  }

  // `image`: what the pooling's image became.
  static Expr fused(const Node& pooling, const Walk& walk, const Expr& image) {
    NodeMap<const Node*> now;  // what became of the nodes
    now[&pooling.inputs[0].node()] = &image.node();
    for (const Node* node : walk.nodes)
      for (size_t i = 0; i < node->inputs.size(); ++i) now[&node->inputs[i].node()] = &now.at(node)->inputs[i].node();
    auto body = std::make_shared<Graph>();
    std::vector<Expr> outer;  // of each input of the body
    std::vector<bool> is_of_conv;
    NodeMap<std::shared_ptr<const Node>> inner;
    auto input_of_body = [&](const Expr& e, bool of_conv) {
      for (size_t k = 0; k < outer.size(); ++k)
        if (is_of_conv[k] == of_conv && outer[k].same(e)) return body->inputs[k];
      outer.push_back(e);
      is_of_conv.push_back(of_conv);
      body->inputs.push_back(make_input(e.type(), e.name()));
      return body->inputs.back();
    };
    auto add = [&](const Node& node) {
      std::vector<Expr> inputs;
      for (const Expr& e : node.inputs) {
        const Tensor* number = constant_value(e);
        if (const auto* made = inner.find(&e.node()))
          inputs.emplace_back(*made, e.output());
        else if (number && number->rank() == 0)
          inputs.push_back(e);
        else
          inputs.push_back(input_of_body(Expr(now.at(&e.node())->self.lock(), e.output()), &node == walk.conv));
      }
      inner.try_emplace(&node, clone_with_inputs(node, std::move(inputs), {}));
    };
    for (size_t i = walk.nodes.size(); i-- > 0;) add(*walk.nodes[i]);
    add(pooling);
    body->outputs = {Expr(*inner.find(&pooling), 0)};
    return Expr(make_pooled_conv(std::move(body), std::move(outer)), 0);
  }

  const Graph& graph_;
  const PassContext& context_;
  const std::vector<const Node*> order_;
  const Readers readers_;
  std::unordered_set<const Node*> returned_;
  NodeMap<Walk> found_;
};

}  // namespace

Graph fuse_pooling(const Graph& graph, const PassContext& context) {
  return PoolingFuser(graph, context).run();
}

}  // namespace thtrain
