#include "compiler/ir/effects.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

thread_local EffectScope* innermost = nullptr;

bool is_token(const Expr& value) {
  return value.type().kind == TypeKind::kToken;
}

std::vector<const Node*> effects_of(const Graph& graph) {
  std::vector<const Node*> out = topological_order(graph.roots());
  std::erase_if(out, [](const Node* node) { return !has_effect(*node); });
  return out;
}

class Threader {
 public:
  /// Puts the effects of a graph in order. `token`: what the first one takes, and then what the last one gives.
  Graph thread(const Graph& graph, Expr& token) {
    std::vector<const Node*> effects = effects_of(graph);
    std::ranges::stable_sort(effects, {}, &Node::serial);
    Rebuilder rebuilder;
    NodeMap<std::vector<Expr>> done;  // by the effect as it is without a token
    const Rebuilder::Rewrite rewrite = [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
      if (!has_effect(node)) return {};
      if (!inputs.empty() && is_token(inputs.back())) {  // it was in order before, and keeps its bodies
        std::vector<Expr> own = inputs;
        own.back() = token;
        return take(clone_with_inputs(node, std::move(own), node.bodies), token);
      }
      const std::shared_ptr<const Node> plain = rebuilder.cons(clone_with_inputs(node, inputs, node.bodies));
      auto [outputs, fresh] = done.try_emplace(plain.get());
      if (fresh) outputs = take(with_token(node, inputs, token), token);
      return outputs;
    };
    // Asked for in the order of construction, each meets none but itself that is not in order yet. Where a later one
    // was put below it, that one comes first.
    for (const Node* effect : effects) rebuilder.rebuild((*effect)[0], rewrite);
    return map_roots(graph, [&](const Expr& root) { return rebuilder.rebuild(root, rewrite); });
  }

 private:
  static std::vector<Expr> take(const std::shared_ptr<const Node>& made, Expr& token) {
    std::vector<Expr> out = outputs_of(*made);
    TH_CHECK(is_token(out.back()), made->op->name, " has an effect and gives no token");
    token = out.back();
    return out;
  }

  std::shared_ptr<const Node> with_token(const Node& node, std::vector<Expr> inputs, const Expr& token) {
    inputs.push_back(token);
    std::vector<GraphPtr> bodies;
    for (const GraphPtr& body : node.bodies) bodies.push_back(with_token(body));
    return clone_with_inputs(node, std::move(inputs), std::move(bodies));
  }

  GraphPtr with_token(const GraphPtr& body) {
    GraphPtr& out = bodies_[body.get()];
    if (out) return out;
    const Expr first = make_input(token_type(), "token");
    Expr token = first;
    Graph made = thread(*body, token);
    std::erase_if(made.effects, [](const Expr& effect) { return !effect.node().op->defines; });
    made.inputs.push_back(first);
    made.outputs.push_back(token);
    return bodies_[body.get()] = std::make_shared<const Graph>(std::move(made));
  }

  std::unordered_map<const Graph*, GraphPtr> bodies_;  // a body that two nodes share stays one
};

}  // namespace

bool has_effect(const Node& node) {
  if (node.op->has_effect) return true;
  if (node.op->fused) return false;
  return std::ranges::any_of(node.bodies, [](const GraphPtr& body) { return !effects_of(*body).empty(); });
}

EffectScope::EffectScope() : outer_(innermost) {
  innermost = this;
}
EffectScope::~EffectScope() {
  innermost = outer_;
}

void EffectScope::record(const std::shared_ptr<const Node>& node) {
  if (innermost && has_effect(*node)) innermost->effects_.emplace_back(node);
}

Graph thread_effects(const Graph& graph) {
  const std::vector<const Node*> effects = effects_of(graph);
  Graph out = graph;
  if (!effects.empty()) {
    InheritOrigin origin(effects.front()->origin);
    Expr token = apply(start_token_op(), {});
    out = Threader().thread(graph, token);
    out.effects = {token};
  } else {
    out.effects.clear();
  }
  return out;
}

bool carries_token(const Graph& body) {
  return !body.outputs.empty() && is_token(body.outputs.back());
}

std::vector<Expr> without_effect(const Node& node, std::span<const Expr> inputs) {
  if (node.op->has_effect && node.op->without_effect) return node.op->without_effect(node, inputs);
  std::vector<GraphPtr> bodies;
  for (const GraphPtr& body : node.bodies) bodies.push_back(std::make_shared<const Graph>(without_effects(*body)));
  return outputs_of(*clone_with_inputs(node, {inputs.begin(), inputs.end()}, std::move(bodies)));
}

Graph without_effects(const Graph& graph) {
  Rebuilder rebuilder;
  Graph out = map_roots(graph, [&](const Expr& root) {
    return rebuilder.rebuild(root, [](const Node& node, const std::vector<Expr>& inputs) {
      return has_effect(node) ? without_effect(node, inputs) : std::vector<Expr>();
    });
  });
  std::erase_if(out.effects,
                [](const Expr& effect) { return !has_effect(effect.node()) && !effect.node().op->defines; });
  return out;
}

}  // namespace thtrain
