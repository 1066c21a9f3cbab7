#include "compiler/ir/graph.h"

#include <algorithm>
#include <utility>

#include "compiler/base/hash_mix.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/node_set.h"
#include "compiler/ir/op.h"

namespace thtrain {

std::vector<Expr> Graph::roots() const {
  std::vector<Expr> out = outputs;
  for (const Update& update : updates) out.push_back(update.value);
  out.insert(out.end(), effects.begin(), effects.end());
  return out;
}

Graph map_roots(const Graph& graph, const std::function<Expr(const Expr&)>& f) {
  Graph out;
  out.inputs = graph.inputs;
  for (const Expr& output : graph.outputs) out.outputs.push_back(f(output));
  for (const Update& update : graph.updates) out.updates.push_back({update.variable, f(update.value)});
  for (const Expr& effect : graph.effects) out.effects.push_back(f(effect));
  return out;
}

static bool same_values(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& left, const Expr& right) { return left.same(right); });
}

bool same_roots(const Graph& a, const Graph& b) {
  return a.outputs.size() == b.outputs.size() && a.updates.size() == b.updates.size() &&
         same_values(a.roots(), b.roots());
}

std::vector<const Node*> topological_order(std::span<const Expr> roots) {
  std::vector<const Node*> order;
  NodeSet seen;
  std::vector<std::pair<const Node*, size_t>> stack;  // node, next input to visit
  for (const Expr& root : roots) {
    if (!seen.insert(&root.node())) continue;
    stack.emplace_back(&root.node(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs.size()) {
        const Node* input = &node->inputs[next++].node();
        if (seen.insert(input)) stack.emplace_back(input, 0);
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

// Mixes in what tells most bodies apart: the ops and properties of their first nodes, from the results on. As many as
// to tell loops that differ in a constant; not all, for a body is hashed whenever its node is interned.
static void mix_body(size_t& seed, const Graph& body) {
  constexpr size_t kMaxNodes = 16;
  std::vector<const Node*> stack;
  for (size_t k = body.outputs.size(); k-- > 0;) stack.push_back(&body.outputs[k].node());
  for (size_t visited = 0; visited < kMaxNodes && !stack.empty(); ++visited) {
    const Node& node = *stack.back();
    stack.pop_back();
    mix(seed, std::hash<const void*>{}(node.op));
    if (!node.is_leaf()) mix(seed, node.props.hash());  // leaves of equal bodies differ
    for (size_t i = node.inputs.size(); i-- > 0;) stack.push_back(&node.inputs[i].node());
  }
}

// Of what makes a node's identity. A leaf is itself.
static size_t hash_of(const Node& node) {
  if (node.is_leaf()) return std::hash<const void*>{}(&node);
  size_t seed = std::hash<const void*>{}(node.op);
  mix(seed, node.props.hash());
  mix(seed, static_cast<size_t>(node.recompute));
  for (const Expr& input : node.inputs) {
    mix(seed, std::hash<const void*>{}(&input.node()));
    mix(seed, input.output());
  }
  for (const GraphPtr& body : node.bodies) mix_body(seed, *body);
  return seed;
}

static bool same_graph(const Graph& a, const Graph& b, bool merges_effects);

static bool takes_token(const Node& node) {
  return !node.inputs.empty() && node.inputs.back().type().kind == TypeKind::kToken;
}

static bool are_equal(const Node& a, const Node& b, bool merges_effects) {
  if (&a == &b) return true;
  if (a.is_leaf() || b.is_leaf()) return false;
  if (a.op != b.op || a.recompute != b.recompute || a.inputs.size() != b.inputs.size() ||
      a.bodies.size() != b.bodies.size() || !(a.props == b.props))
    return false;
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (!a.inputs[i].same(b.inputs[i])) return false;
  for (size_t i = 0; i < a.bodies.size(); ++i)
    if (a.bodies[i] != b.bodies[i] && !same_graph(*a.bodies[i], *b.bodies[i], merges_effects)) return false;
  return merges_effects || a.serial == b.serial || takes_token(a) || !has_effect(a);
}

// The equal node's slot, or the free one where `node` belongs.
Rebuilder::Unique& Rebuilder::slot_of(size_t hash, const Node& node) {
  const size_t mask = unique_.size() - 1;
  size_t slot = (hash * 0x9e3779b97f4a7c15ull >> 20) & mask;
  while (unique_[slot].node && (unique_[slot].hash != hash || !are_equal(*unique_[slot].node, node, merges_effects_)))
    slot = (slot + 1) & mask;
  return unique_[slot];
}

std::shared_ptr<const Node> Rebuilder::cons(std::shared_ptr<const Node> node) {
  if ((unique_count_ + 1) * 4 > unique_.size() * 3) {
    std::vector<Unique> old = std::exchange(unique_, std::vector<Unique>(std::max<size_t>(16, 2 * unique_.size())));
    for (Unique& entry : old)
      if (entry.node) slot_of(entry.hash, *entry.node) = std::move(entry);
  }
  const size_t hash = hash_of(*node);
  Unique& slot = slot_of(hash, *node);
  if (!slot.node) {
    slot = {hash, std::move(node)};
    ++unique_count_;
  }
  return slot.node;
}

void Rebuilder::replace(const Expr& from, const Expr& to) {
  Done& done = done_[&from.node()];
  done.kept = from.node_ptr();
  if (done.outputs.empty())
    for (size_t i = 0; i < from.node().types.size(); ++i) done.outputs.push_back(from.node()[i]);
  done.outputs[from.output()] = to;
}

Expr Rebuilder::rebuild(const Expr& root, const Rewrite& rewrite) {
  std::vector<const Node*> stack{&root.node()};  // alive by the root
  std::vector<Expr> inputs;
  while (!stack.empty()) {
    const Node* node = stack.back();
    if (done_.contains(node)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    for (size_t i = node->inputs.size(); i-- > 0;)
      if (!done_.contains(&node->inputs[i].node())) {
        stack.push_back(&node->inputs[i].node());
        ready = false;
      }
    if (!ready) continue;
    stack.pop_back();

    bool changed = false;
    inputs.clear();
    for (const Expr& input : node->inputs) {
      inputs.push_back(done_.at(&input.node())[input.output()]);
      changed |= !inputs.back().same(input);
    }
    Done done{node->self.lock(), nullptr, {}};
    if (rewrite) {
      InheritOrigin origin(node->origin);
      done.outputs = rewrite(*node, inputs);
    }
    for (Expr& output : done.outputs)
      if (output.has_value()) output = Expr(cons(output.node_ptr()), output.output());
    if (done.outputs.empty()) done.made = cons(changed ? clone_with_inputs(*node, inputs, node->bodies) : done.kept);
    done_.try_emplace(node, std::move(done));
  }
  return done_.at(&root.node())[root.output()];
}

std::vector<Expr> Rebuilder::rebuild(std::span<const Expr> roots, const Rewrite& rewrite) {
  std::vector<Expr> out;
  out.reserve(roots.size());
  for (const Expr& root : roots) out.push_back(rebuild(root, rewrite));
  return out;
}

Graph rewrite_graph(const Graph& graph, const Rebuilder::Rewrite& rewrite) {
  Rebuilder rebuilder;
  return map_roots(graph, [&](const Expr& root) { return rebuilder.rebuild(root, rewrite); });
}

static bool has_own_bodies(const Node* node) {
  return !node->bodies.empty() && !node->op->fused;
}

bool has_bodies(const Graph& graph) {
  return std::ranges::any_of(topological_order(graph.roots()), has_own_bodies);
}

Graph map_bodies(const Graph& graph, const std::function<Graph(const Graph&)>& change) {
  if (!has_bodies(graph)) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!has_own_bodies(&node)) return {};
    std::vector<GraphPtr> bodies = node.bodies;
    for (GraphPtr& body : bodies)
      if (Graph changed = change(*body); !same_roots(changed, *body))
        body = std::make_shared<const Graph>(std::move(changed));
    if (bodies == node.bodies) return {};
    return outputs_of(*clone_with_inputs(node, inputs, std::move(bodies)));
  });
}

NodeMap<std::vector<bool>> outputs_read(const Graph& graph, const Op& op) {
  NodeMap<std::vector<bool>> out;
  const auto note = [&](const Expr& value) {
    if (value.node().op != &op) return;
    std::vector<bool>& outputs = out[&value.node()];
    outputs.resize(value.node().types.size());
    outputs[value.output()] = true;
  };
  const std::vector<Expr> roots = graph.roots();
  for (const Node* node : topological_order(roots)) std::ranges::for_each(node->inputs, note);
  std::ranges::for_each(roots, note);
  return out;
}

const Node* root_of(const Expr& value) {
  const Expr* at = &value;
  while (is_view(*at)) at = &viewed_by(*at);
  return &at->node();
}

std::vector<Expr> substitute(std::span<const Expr> roots, std::span<const std::pair<Expr, Expr>> replacements) {
  Rebuilder rebuilder;
  for (const auto& [from, to] : replacements) rebuilder.replace(from, to);
  return rebuilder.rebuild(roots, nullptr);
}

Graph substitute(const Graph& graph, std::span<const std::pair<Expr, Expr>> replacements) {
  Rebuilder rebuilder;
  for (const auto& [from, to] : replacements) rebuilder.replace(from, to);
  return map_roots(graph, [&](const Expr& root) { return rebuilder.rebuild(root, nullptr); });
}

static size_t count_effects(const Graph& graph) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  return static_cast<size_t>(std::ranges::count_if(order, [](const Node* node) { return has_effect(*node); }));
}

// With `merges_effects`, effects of different origins may be equal.
static bool same_graph(const Graph& a, const Graph& b, bool merges_effects) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size() ||
      a.updates.size() != b.updates.size() || a.effects.size() != b.effects.size())
    return false;
  if (merges_effects && count_effects(a) != count_effects(b)) return false;
  // b's inputs become a's; then the two are equal where consing makes their roots one.
  Rebuilder rebuilder(merges_effects);
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

bool same_graph(const Graph& a, const Graph& b) {
  return same_graph(a, b, true);
}

Readers::Readers(std::span<const Node* const> order) : begin_(order.size() + 1, 0) {
  number_.reserve(order.size());
  for (const Node* node : order) number_.try_emplace(node, static_cast<uint32_t>(number_.size()));
  std::vector<std::pair<uint32_t, const Node*>> pairs;  // a node's number, its reader
  for (const Node* node : order)
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Node* input = &node->inputs[i].node();
      const uint32_t* number = number_.find(input);
      auto is_same = [&](const Expr& e) { return &e.node() == input; };
      if (!number || std::any_of(node->inputs.begin(), node->inputs.begin() + static_cast<std::ptrdiff_t>(i), is_same))
        continue;
      pairs.emplace_back(*number, node);
      ++begin_[*number + 1];
    }
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  all_.resize(pairs.size());
  std::vector<uint32_t> next = begin_;
  for (const auto& [number, reader] : pairs) all_[next[number]++] = reader;
}

std::span<const Node* const> Readers::of(const Node& node) const {
  const uint32_t* number = number_.find(&node);
  if (!number) return {};
  return {all_.data() + begin_[*number], all_.data() + begin_[*number + 1]};
}

}  // namespace thtrain
