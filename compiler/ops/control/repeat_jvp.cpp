// Forward mode of a loop: the same turns with a tangent beside each value that has one.
#include <utility>

#include "compiler/ir/effects.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/repeat_parts.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// The tangents of the body's inputs, as new inputs, and of its outputs. A state that begins without one may get one
// from another in some turn.
struct BodyTangents {
  std::vector<Expr> inputs, outputs;

  BodyTangents(const JvpArgs& a, const RepeatParts& parts, const Graph& body) : inputs(body.inputs.size()) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (a.tangents[i].has_value()) inputs[i] = make_input(body.inputs[i].type(), "tangent");
    for (bool changed = true; std::exchange(changed, false);) {
      std::vector<Expr> wrt, directions;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].has_value()) {
          wrt.push_back(body.inputs[i]);
          directions.push_back(inputs[i]);
        }
      outputs = a.differentiate(body.outputs, wrt, directions);
      for (size_t i = 0; i < parts.states; ++i)
        if (outputs[i].has_value() && !inputs[i].has_value()) {
          inputs[i] = make_input(body.inputs[i].type(), "tangent");
          changed = true;
        }
    }
  }
};

}  // namespace

std::vector<Expr> repeat_jvp(const JvpArgs& a) {
  const RepeatParts parts(a.node);
  const Graph body = without_effects(parts.body);
  const BodyTangents tangents(a, parts, body);
  auto graph = std::make_shared<Graph>();
  std::vector<Expr> inputs;
  // Tangents stand before the values: with `until` the last state counts the turns.
  auto add = [&](size_t begin, size_t end) {
    size_t added = 0;
    for (size_t i = begin; i < end; ++i) {
      if (!tangents.inputs[i].has_value()) continue;
      graph->inputs.push_back(tangents.inputs[i]);
      inputs.push_back(a.tangents[i].has_value() ? a.tangents[i] : zeros_like(a.input(i)));
      ++added;
    }
    for (size_t i = begin; i < end; ++i) {
      graph->inputs.push_back(body.inputs[i]);
      inputs.push_back(a.input(i));
    }
    return added;
  };
  const size_t moving = add(0, parts.states);
  const size_t sequences = parts.sequences + add(parts.states, parts.states + parts.sequences);
  add(parts.states + parts.sequences, body.inputs.size());
  if (std::optional<Expr> kept = kept_for_effects(a.node)) {
    graph->inputs.push_back(make_input(kept->type(), "printed"));
    inputs.push_back(*kept);
  }

  std::vector<size_t> states, elements;  // that have tangents
  for (size_t i = 0; i < parts.states; ++i)
    if (tangents.inputs[i].has_value()) {
      const Expr& next = tangents.outputs[i];
      states.push_back(i);
      graph->outputs.push_back(typed_as(next.has_value() ? next : zeros_like(body.inputs[i]), body.inputs[i].type()));
    }
  graph->outputs.insert(graph->outputs.end(), body.outputs.begin(),
                        body.outputs.begin() + static_cast<std::ptrdiff_t>(parts.states + parts.elements));
  for (size_t k = 0; k < parts.elements; ++k)
    if (const Expr& tangent = tangents.outputs[parts.body_element(k)]; tangent.has_value()) {
      elements.push_back(k);
      graph->outputs.push_back(typed_as(tangent, body.outputs[parts.body_element(k)].type()));
    }
  if (parts.until) graph->outputs.push_back(body.outputs[parts.body_done()]);

  const size_t all = parts.states + moving;
  const std::vector<Expr> made =
      make_repeat({.count = parts.count, .states = all, .sequences = sequences, .until = parts.until}, std::move(graph),
                  std::move(inputs));
  std::vector<Expr> out(a.node.types.size());
  for (size_t k = 0; k < states.size(); ++k) {
    out[states[k]] = made[k];
    out[parts.history(states[k])] = made[all + k];
  }
  for (size_t k = 0; k < elements.size(); ++k) out[parts.element(elements[k])] = made[2 * all + parts.elements + k];
  return out;
}

}  // namespace thtrain
