#include "compiler/ir/graph.h"

#include <algorithm>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"

namespace thtrain {

std::vector<Expr> Graph::roots() const {
  std::vector<Expr> out = outputs;
  for (const Update& update : updates) out.push_back(update.value);
  return out;
}

std::vector<const Node*> topological_order(std::span<const Expr> roots) {
  std::vector<const Node*> order;
  NodeMap<bool> seen;
  std::vector<std::pair<const Node*, size_t>> stack;  // node, next input to visit
  for (const Expr& root : roots) {
    if (!seen.try_emplace(&root.node()).second) continue;
    stack.emplace_back(&root.node(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs.size()) {
        const Node* input = &node->inputs[next++].node();
        if (seen.try_emplace(input).second) stack.emplace_back(input, 0);
      } else {
        order.push_back(node);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<Expr> leaves_of(std::span<const Expr> roots) {
  std::vector<Expr> out;
  for (const Node* node : topological_order(roots))
    if (node->is_leaf()) out.push_back((*node)[0]);
  return out;
}

std::vector<Expr> shared_leaves(const Graph& graph) {
  std::vector<Expr> roots = graph.roots(), out;
  for (const Update& update : graph.updates) roots.push_back(update.variable);
  for (const Expr& leaf : leaves_of(roots))
    if (is_shared(leaf)) out.push_back(leaf);
  return out;
}

size_t node_count(const Graph& graph) {
  size_t count = 0;
  for (const Node* node : topological_order(graph.roots())) {
    ++count;
    for (const GraphPtr& body : node->bodies) count += node_count(*body);
  }
  return count;
}

static void mix(size_t& seed, size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
}

size_t Rebuilder::Hash::operator()(const std::shared_ptr<const Node>& node) const {
  size_t seed = std::hash<const void*>{}(node->op);
  if (node->is_leaf()) {
    mix(seed, std::hash<const void*>{}(node.get()));
    return seed;
  }
  mix(seed, node->props.hash());
  mix(seed, static_cast<size_t>(node->recompute));
  for (const Expr& input : node->inputs) {
    mix(seed, std::hash<const void*>{}(&input.node()));
    mix(seed, input.output());
  }
  return seed;
}

bool Rebuilder::Equal::operator()(const std::shared_ptr<const Node>& a, const std::shared_ptr<const Node>& b) const {
  if (a == b) return true;
  if (a->is_leaf() || b->is_leaf()) return false;
  if (a->op != b->op || a->recompute != b->recompute || a->inputs.size() != b->inputs.size() ||
      a->bodies.size() != b->bodies.size() || !(a->props == b->props))
    return false;
  for (size_t i = 0; i < a->inputs.size(); ++i)
    if (!a->inputs[i].same(b->inputs[i])) return false;
  for (size_t i = 0; i < a->bodies.size(); ++i)
    if (a->bodies[i] != b->bodies[i] && !same_graph(*a->bodies[i], *b->bodies[i])) return false;
  return true;
}

std::shared_ptr<const Node> Rebuilder::cons(std::shared_ptr<const Node> node) {
  auto [at, fresh] = consed_.try_emplace(node, node);
  return at->second;
}

void Rebuilder::replace(const Expr& from, const Expr& to) {
  auto& outputs = done_[&from.node()];
  kept_.push_back(from.node_ptr());
  if (outputs.empty())
    for (size_t i = 0; i < from.node().types.size(); ++i) outputs.push_back(from.node()[i]);
  outputs[from.output()] = to;
}

Expr Rebuilder::rebuild(const Expr& root, const Rewrite& rewrite) {
  std::vector<std::shared_ptr<const Node>> stack{root.node_ptr()};
  while (!stack.empty()) {
    std::shared_ptr<const Node> node = stack.back();
    if (done_.count(node.get())) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    for (size_t i = node->inputs.size(); i-- > 0;)
      if (!done_.count(&node->inputs[i].node())) {
        stack.push_back(node->inputs[i].node_ptr());
        ready = false;
      }
    if (!ready) continue;
    stack.pop_back();

    bool changed = false;
    std::vector<Expr> inputs;
    inputs.reserve(node->inputs.size());
    for (const Expr& input : node->inputs) {
      inputs.push_back(done_.at(&input.node())[input.output()]);
      changed |= !inputs.back().same(input);
    }
    std::vector<Expr> outputs;
    if (rewrite) {
      InheritOrigin origin(node->origin);
      outputs = rewrite(*node, inputs);
    }
    if (outputs.empty()) {
      std::shared_ptr<const Node> same = changed ? remake(*node, std::move(inputs), node->bodies) : node;
      same = cons(std::move(same));
      for (size_t i = 0; i < same->types.size(); ++i) outputs.emplace_back(same, i);
    } else {
      for (Expr& output : outputs)
        if (output) output = Expr(cons(output.node_ptr()), output.output());
    }
    kept_.push_back(node);
    done_.emplace(node.get(), std::move(outputs));
  }
  return done_.at(&root.node())[root.output()];
}

std::vector<Expr> Rebuilder::rebuild(std::span<const Expr> roots, const Rewrite& rewrite) {
  std::vector<Expr> out;
  for (const Expr& root : roots) out.push_back(rebuild(root, rewrite));
  return out;
}

Graph rewrite_graph(const Graph& graph, const Rebuilder::Rewrite& rewrite) {
  Rebuilder rebuilder;
  auto with_bodies = [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.bodies.empty()) return rewrite ? rewrite(node, inputs) : std::vector<Expr>{};
    std::vector<GraphPtr> bodies;
    bool changed = false;
    for (const GraphPtr& body : node.bodies) {
      Graph rebuilt = rewrite_graph(*body, rewrite);
      bool same = rebuilt.outputs.size() == body->outputs.size();
      for (size_t i = 0; same && i < rebuilt.outputs.size(); ++i) same = rebuilt.outputs[i].same(body->outputs[i]);
      changed |= !same;
      bodies.push_back(same ? body : std::make_shared<const Graph>(std::move(rebuilt)));
    }
    if (!changed) return rewrite ? rewrite(node, inputs) : std::vector<Expr>{};
    std::shared_ptr<const Node> remade = remake(node, inputs, std::move(bodies));
    if (rewrite)
      if (std::vector<Expr> outputs = rewrite(*remade, inputs); !outputs.empty()) return outputs;
    std::vector<Expr> outputs;
    for (size_t i = 0; i < remade->types.size(); ++i) outputs.emplace_back(remade, i);
    return outputs;
  };
  Graph out;
  out.inputs = graph.inputs;
  out.outputs = rebuilder.rebuild(graph.outputs, with_bodies);
  for (const Update& update : graph.updates)
    out.updates.push_back({update.variable, rebuilder.rebuild(update.value, with_bodies)});
  return out;
}

std::vector<Expr> substitute(std::span<const Expr> roots, std::span<const std::pair<Expr, Expr>> replacements) {
  Rebuilder rebuilder;
  for (const auto& [from, to] : replacements) rebuilder.replace(from, to);
  return rebuilder.rebuild(roots, nullptr);
}

bool same_graph(const Graph& a, const Graph& b) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size() ||
      a.updates.size() != b.updates.size())
    return false;
  // b's inputs become a's; then the two are equal where consing makes their roots one.
  Rebuilder rebuilder;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    if (!(a.inputs[i].type() == b.inputs[i].type())) return false;
    rebuilder.replace(b.inputs[i], a.inputs[i]);
  }
  Rebuilder::Rewrite keep = nullptr;
  std::vector<Expr> left = a.roots(), right = b.roots();
  for (size_t i = 0; i < left.size(); ++i) {
    Expr x = rebuilder.rebuild(left[i], keep);
    if (!x.same(rebuilder.rebuild(right[i], keep))) return false;
  }
  return true;
}

std::unordered_map<const Node*, std::vector<const Node*>> readers_of(std::span<const Node* const> order) {
  std::unordered_map<const Node*, std::vector<const Node*>> readers;
  for (const Node* node : order)
    for (const Expr& input : node->inputs) {
      auto& list = readers[&input.node()];
      if (list.empty() || list.back() != node) list.push_back(node);
    }
  return readers;
}

}  // namespace thtrain
