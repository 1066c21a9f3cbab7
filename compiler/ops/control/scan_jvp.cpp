// Forward mode of a loop: the same iterations with a tangent for each value that has one.
#include <array>
#include <utility>

#include "compiler/ir/effects.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// The tangents of the body's inputs, as new inputs, and of its outputs. A state that begins without one may get one
// from another in some iteration; then all its values have one.
struct BodyTangents {
  std::vector<Expr> inputs, outputs;
  std::vector<bool> moves;  // of each state

  BodyTangents(const JvpArgs& a, const ScanParts& parts, const Graph& body)
      : inputs(body.inputs.size()), moves(parts.states) {
    auto move = [&](size_t i) { inputs[i] = make_input(body.inputs[i].type(), "tangent"); };
    auto move_state = [&](size_t i) {
      moves[i] = true;
      for (size_t d = 0; d < parts.taps[i].delays.size(); ++d) move(parts.body_state(i, d));
    };
    for (size_t i = 0; i < parts.states; ++i)
      if (a.tangents[i].has_value()) move_state(i);
    for (size_t k = 0; k < parts.sequences; ++k)
      if (a.tangents[parts.sequence(k)].has_value()) move(parts.body_sequence(k));
    for (size_t k = 0; k < parts.captures; ++k)
      if (a.tangents[parts.capture(k)].has_value()) move(parts.body_capture(k));
    for (bool changed = true; std::exchange(changed, false);) {
      std::vector<Expr> wrt, directions;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].has_value()) {
          wrt.push_back(body.inputs[i]);
          directions.push_back(inputs[i]);
        }
      outputs = a.differentiate(body.outputs, wrt, directions);
      for (size_t i = 0; i < parts.states; ++i)
        if (outputs[i].has_value() && !moves[i]) {
          move_state(i);
          changed = true;
        }
    }
  }
};

// The loop with tangents, while it is put together. Tangents precede the values: with `until` the last state
// counts the iterations.
struct WithTangents {
  const JvpArgs& a;
  const Graph& body;
  const BodyTangents& tangents;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Expr> inputs = {};

  void add_tangent(size_t input, std::span<const size_t> in_body) {
    for (size_t i : in_body) graph->inputs.push_back(tangents.inputs[i]);
    inputs.push_back(a.tangents[input].has_value() ? a.tangents[input] : zeros_like(a.input(input)));
  }
  void add_value(size_t input, std::span<const size_t> in_body) {
    for (size_t i : in_body) graph->inputs.push_back(body.inputs[i]);
    inputs.push_back(a.input(input));
  }
};

}  // namespace

std::vector<Expr> scan_jvp(const JvpArgs& a) {
  const ScanParts parts(a.node);
  const Graph body = without_effects(parts.body);
  const BodyTangents tangents(a, parts, body);
  WithTangents made{a, body, tangents};
  auto state_inputs = [&](size_t i) {
    std::vector<size_t> out;
    for (size_t d = 0; d < parts.taps[i].delays.size(); ++d) out.push_back(parts.body_state(i, d));
    return out;
  };
  std::vector<StateTaps> taps;
  std::vector<size_t> states, elements;  // that have tangents
  for (size_t i = 0; i < parts.states; ++i)
    if (tangents.moves[i]) {
      states.push_back(i);
      taps.push_back(parts.taps[i]);
      made.add_tangent(i, state_inputs(i));
    }
  for (size_t i = 0; i < parts.states; ++i) made.add_value(i, state_inputs(i));
  taps.insert(taps.end(), parts.taps.begin(), parts.taps.end());
  size_t sequences = parts.sequences;
  auto add = [&](size_t input, size_t in_body) {
    const bool moves = tangents.inputs[in_body].has_value();
    if (moves) made.add_tangent(input, std::array{in_body});
    return moves;
  };
  for (size_t k = 0; k < parts.sequences; ++k) sequences += add(parts.sequence(k), parts.body_sequence(k));
  for (size_t k = 0; k < parts.sequences; ++k) made.add_value(parts.sequence(k), std::array{parts.body_sequence(k)});
  for (size_t k = 0; k < parts.captures; ++k) add(parts.capture(k), parts.body_capture(k));
  for (size_t k = 0; k < parts.captures; ++k) made.add_value(parts.capture(k), std::array{parts.body_capture(k)});
  if (std::optional<Expr> kept = kept_for_effects(a.node)) {
    made.graph->inputs.push_back(make_input(kept->type(), "printed"));
    made.inputs.push_back(*kept);
  }

  std::vector<Expr>& outputs = made.graph->outputs;
  for (size_t i : states) {
    const Expr &next = tangents.outputs[i], &value = body.inputs[parts.body_state(i)];
    outputs.push_back(typed_as(next.has_value() ? next : zeros_like(value), value.type()));
  }
  outputs.insert(outputs.end(), body.outputs.begin(),
                 body.outputs.begin() + static_cast<std::ptrdiff_t>(parts.states + parts.elements));
  for (size_t k = 0; k < parts.elements; ++k)
    if (const Expr& tangent = tangents.outputs[parts.body_element(k)]; tangent.has_value()) {
      elements.push_back(k);
      outputs.push_back(typed_as(tangent, body.outputs[parts.body_element(k)].type()));
    }
  if (parts.until) outputs.push_back(body.outputs[parts.body_done()]);
  made.graph->effects = body.effects;

  const size_t all = taps.size();
  const std::vector<Expr> loop = make_scan({.count = parts.count,
                                            .taps = std::move(taps),
                                            .sequences = sequences,
                                            .until = parts.until,
                                            .truncate = parts.truncate,
                                            .name = a.node.props.get_or<std::string>("name", {}),
                                            .unbatched = parts.unbatched},
                                           std::move(made.graph), std::move(made.inputs));
  std::vector<Expr> out(a.node.types.size());
  for (size_t k = 0; k < states.size(); ++k) {
    out[states[k]] = loop[k];
    out[parts.history(states[k])] = loop[all + k];
  }
  for (size_t k = 0; k < elements.size(); ++k) out[parts.element(elements[k])] = loop[2 * all + parts.elements + k];
  return out;
}

}  // namespace thtrain
