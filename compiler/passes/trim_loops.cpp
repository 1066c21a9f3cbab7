#include "compiler/passes/trim_loops.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/scan_parts.h"

namespace thtrain {
namespace {

// Which outputs of a loop stay, and the loop with those alone.
class Trimmer {
 public:
  Trimmer(const Node& loop, const std::vector<bool>& is_read) : loop_(loop), parts_(loop), keeps_(parts_.states) {
    for (size_t i = 0; i < parts_.states; ++i) keeps_[i] = is_read[i] || is_read[parts_.history(i)];
    if (parts_.until) keeps_.back() = true;
    for (size_t k = 0; k < parts_.elements; ++k)
      if (is_read[parts_.element(k)]) elements_.push_back(k);
    while (keep_what_is_needed()) {
    }
  }

  bool trims() const {
    return elements_.size() < parts_.elements || std::find(keeps_.begin(), keeps_.end(), false) != keeps_.end() ||
           std::any_of(parts_.body.inputs.begin() + static_cast<std::ptrdiff_t>(parts_.body_sequence(0)),
                       parts_.body.inputs.end() - parts_.token,
                       [&](const Expr& input) { return !needed_.contains(&input.node()); });
  }

  // The outputs of the node; those that are gone are its old ones, which nobody reads.
  std::vector<Expr> trimmed() const {
    auto body = std::make_shared<Graph>();
    std::vector<Expr> inputs;
    std::vector<StateTaps> taps;
    std::vector<size_t> states;
    for (size_t i = 0; i < parts_.states; ++i) {
      if (!keeps_[i]) continue;
      states.push_back(i);
      taps.push_back(parts_.taps[i]);
      inputs.push_back(loop_.inputs[i]);
      for (size_t d = 0; d < parts_.taps[i].delays.size(); ++d)
        body->inputs.push_back(parts_.body.inputs[parts_.body_state(i, d)]);
    }
    size_t sequences = 0;
    for (size_t k = 0; k < parts_.sequences; ++k)
      sequences += add(parts_.body_sequence(k), parts_.sequence(k), *body, inputs);
    for (size_t k = 0; k < parts_.captures; ++k) add(parts_.body_capture(k), parts_.capture(k), *body, inputs);
    body->outputs = roots();
    body->effects = effects();
    if (parts_.token) {
      body->inputs.push_back(parts_.body.inputs.back());
      inputs.push_back(loop_.inputs.back());
    }
    const std::vector<Expr> made = make_scan({.count = parts_.count,
                                              .taps = std::move(taps),
                                              .sequences = sequences,
                                              .until = parts_.until,
                                              .truncate = parts_.truncate,
                                              .name = loop_.props.get_or<std::string>("name", {}),
                                              .unbatched = parts_.unbatched},
                                             std::move(body), std::move(inputs));
    std::vector<Expr> out = outputs_of(loop_);
    for (size_t k = 0; k < states.size(); ++k) {
      out[states[k]] = made[k];
      out[parts_.history(states[k])] = made[states.size() + k];
    }
    for (size_t k = 0; k < elements_.size(); ++k) out[parts_.element(elements_[k])] = made[2 * states.size() + k];
    if (parts_.token) out.back() = made.back();
    return out;
  }

 private:
  std::vector<Expr> roots() const {
    const std::vector<Expr>& outputs = parts_.body.outputs;
    std::vector<Expr> out;
    for (size_t i = 0; i < parts_.states; ++i)
      if (keeps_[i]) out.push_back(outputs[i]);
    for (size_t k : elements_) out.push_back(outputs[parts_.body_element(k)]);
    out.insert(out.end(), outputs.begin() + static_cast<std::ptrdiff_t>(parts_.body_done()), outputs.end());
    return out;
  }

  // Lengths that nothing names any more go too.
  std::vector<Expr> effects() const {
    std::vector<Expr> out = parts_.body.effects, all = roots();
    std::erase_if(out, [](const Expr& effect) { return effect.node().op->defines != nullptr; });
    all.insert(all.end(), out.begin(), out.end());
    const std::vector<Expr> lengths = needed_definitions(all, parts_.body.effects);
    out.insert(out.end(), lengths.begin(), lengths.end());
    return out;
  }

  // Is there another state that one of the kept ones reads?
  bool keep_what_is_needed() {
    needed_.clear();
    std::vector<Expr> all = roots();
    const std::vector<Expr> others = effects();
    all.insert(all.end(), others.begin(), others.end());
    for (const Expr& leaf : leaves_of(all)) needed_.insert(&leaf.node());
    bool more = false;
    for (size_t i = 0; i < parts_.states; ++i)
      for (size_t d = 0; d < parts_.taps[i].delays.size() && !keeps_[i]; ++d)
        if (needed_.contains(&parts_.body.inputs[parts_.body_state(i, d)].node())) keeps_[i] = more = true;
    return more;
  }

  size_t add(size_t in_body, size_t input, Graph& body, std::vector<Expr>& inputs) const {
    if (!needed_.contains(&parts_.body.inputs[in_body].node())) return 0;
    body.inputs.push_back(parts_.body.inputs[in_body]);
    inputs.push_back(loop_.inputs[input]);
    return 1;
  }

  const Node& loop_;
  const ScanParts parts_;
  std::vector<bool> keeps_;                 // states
  std::vector<size_t> elements_;            // that stay
  std::unordered_set<const Node*> needed_;  // inputs of the body
};

}  // namespace

Graph trim_loops(const Graph& graph, const PassContext& context) {
  const NodeMap<std::vector<bool>> read = outputs_read(graph, scan_op());
  if (read.size() == 0) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != &scan_op()) return {};
    InheritOrigin origin(node.origin);
    const std::shared_ptr<const Node> loop = clone_with_inputs(node, inputs, node.bodies);
    const std::vector<bool>& is_read = read.at(&node);
    const Trimmer trimmer(*loop, is_read);
    if (!trimmer.trims()) return {};
    const std::vector<Expr> out = trimmer.trimmed();
    for (size_t o = 0; o < out.size(); ++o)
      if (is_read[o] && loop->types[o].kind == TypeKind::kTensor)
        context.note("trim_loops", "trim_loops", Expr(loop, o), out[o], Safety::kExact);
    return out;
  });
}

}  // namespace thtrain
