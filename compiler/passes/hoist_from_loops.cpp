#include "compiler/passes/hoist_from_loops.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/iterations_rule.h"

namespace thtrain {
namespace {

constexpr int64_t kLight = 8;  // simple operations of an element that are no more than loading it

bool computes(const Node& node) {
  return !node.is_leaf() && node.op != &constant_op();
}

// Does it cost more than to read its result?
bool is_heavy(const Node& node) {
  if (is_view(node[0])) return false;
  return node.op->scalar ? weight_of(node) > kLight : true;
}

// Does it give a value whatever its inputs are? A slice may begin outside.
bool cannot_fail(const Node& node) {
  return node.op->scalar || (node.op->iterations && !node.op->iterations->may_fail);
}

// The values of a loop's body that follow from its captures, and are worth computing once. What may fail stays in a
// loop that may have no iteration.
class Invariants {
 public:
  explicit Invariants(const ScanParts& parts) : has_iterations_(parts.count.is_at_least(1)) {
    for (const Expr& length : parts.body.effects) defined_.insert(defined_name(length));
    for (size_t k = 0; k < parts.captures; ++k) fixed_.insert(&parts.body.inputs[parts.body_capture(k)].node());
    const std::vector<const Node*> order = topological_order(parts.body.roots());
    for (const Node* node : order)
      if (computes(*node) ? is_fixed(*node) : node->op == &constant_op()) fixed_.insert(node);
    for (const Node* node : order)
      if (fixed_.count(node) && computes(*node)) {
        bool worth = is_heavy(*node);
        for (const Expr& input : node->inputs) worth = worth || worth_.count(&input.node()) > 0;
        if (worth) worth_.insert(node);
      }
    for (const Node* node : order)
      if (computes(*node) && !fixed_.count(node))
        for (const Expr& input : node->inputs) take(input);
    for (const Expr& output : parts.body.outputs) take(output);
  }

  const std::vector<Expr>& found() const { return found_; }

 private:
  bool is_fixed(const Node& node) const {
    if (has_effect(node) || node.op == &start_token_op()) return false;
    if (!has_iterations_ && !cannot_fail(node)) return false;
    if (node.op->defines || names_defined_length(node)) return false;
    return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(),
                                               [&](const Expr& input) { return fixed_.count(&input.node()) > 0; });
  }

  // What has a length that the body defines stays with it.
  bool names_defined_length(const Node& node) const {
    std::set<std::string> names;
    if (!defined_.empty()) collect_defined_names(node, names);
    return std::ranges::any_of(names, [&](const std::string& name) { return defined_.contains(name); });
  }

  // A view costs nothing: what it looks at moves.
  void take(const Expr& value) {
    if (!worth_.count(&value.node())) return;
    if (is_view(value)) {
      for (const Expr& input : value.node().inputs) take(input);
      return;
    }
    if (std::none_of(found_.begin(), found_.end(), [&](const Expr& e) { return e.same(value); }))
      found_.push_back(value);
  }

  bool has_iterations_;
  std::set<std::string> defined_;  // lengths of the body
  std::unordered_set<const Node*> fixed_, worth_;
  std::vector<Expr> found_;
};

// The loop with `values` of its body as captures.
std::shared_ptr<const Node> with_captures(const Node& loop, const std::vector<Expr>& values) {
  const ScanParts parts(loop);
  const Graph& body = parts.body;
  std::vector<std::pair<Expr, Expr>> outside, inside;
  for (size_t k = 0; k < parts.captures; ++k)
    outside.emplace_back(body.inputs[parts.body_capture(k)], loop.inputs[parts.capture(k)]);
  std::vector<Expr> captured;
  for (const Expr& value : values) {
    captured.push_back(make_input(value.type(), value.name().empty() ? value.node().op->name : value.name()));
    inside.emplace_back(value, captured.back());
  }
  const std::vector<Expr> moved = substitute(values, outside);
  auto changed = std::make_shared<Graph>(substitute(body, inside));
  std::vector<Expr> inputs = loop.inputs;
  const auto at = static_cast<std::ptrdiff_t>(parts.token ? 1 : 0);  // the token is the last
  changed->inputs = body.inputs;
  changed->inputs.insert(changed->inputs.end() - at, captured.begin(), captured.end());
  inputs.insert(inputs.end() - at, moved.begin(), moved.end());
  return clone_with_inputs(loop, std::move(inputs), {std::move(changed)});
}

}  // namespace

Graph hoist_from_loops(const Graph& graph, const PassContext& context) {
  if (!has_bodies(graph)) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != &scan_op() || ScanParts(node).count.is(0)) return {};
    InheritOrigin origin(node.origin);
    const std::shared_ptr<const Node> loop = clone_with_inputs(node, inputs, node.bodies);
    const std::vector<Expr> values = Invariants(ScanParts(*loop)).found();
    if (values.empty()) return {};
    const std::shared_ptr<const Node> made = with_captures(*loop, values);
    std::vector<Expr> out = outputs_of(*made);
    for (size_t o = 0; o < out.size(); ++o)
      if (out[o].type().kind == TypeKind::kTensor)
        context.note("hoist_from_loops", "hoist_from_loops", Expr(loop, o), out[o], Safety::kExact);
    return out;
  });
}

}  // namespace thtrain
