#include "compiler/runtime/reference_step.h"

#include <algorithm>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

// Steps of the loop around it run before it too, in earlier iterations.
static bool runs_after_write(const Program& program, const std::vector<StepInLoops>& steps, size_t number) {
  const auto is_in_its_loop = [&](const StepInLoops& step) {
    return !step.loops.empty() && !steps[number].loops.empty() && step.loops[0] == steps[number].loops[0];
  };
  for (size_t i = 0; i < steps.size(); ++i)
    if ((i < number || is_in_its_loop(steps[i])) && writes_shared(program, *steps[i].step)) return true;
  return false;
}

std::vector<ReferenceStep> reference_steps_of(const Program& program) {
  std::vector<ReferenceStep> out;
  const std::vector<StepInLoops> steps = steps_in_loops(program.body);
  for (size_t own = 0; own < steps.size(); ++own) {
    const Step& step = *steps[own].step;
    if (!std::holds_alternative<kernel::ReferenceCall>(step.code)) continue;
    ReferenceStep made{own, step.node->self.lock(), {}, step.inputs, runs_after_write(program, steps, own), nullptr};
    for (const BufferView& operand : step.operands)
      made.values.push_back({operand.buffer >= 0, operand.type, operand.layout.strides});
    out.push_back(std::move(made));
  }
  return out;
}

std::optional<std::string> call_text(const Node& node) {
  Graph call;
  std::vector<Expr> inputs;
  for (const Expr& input : node.inputs) {
    if (is_constant(input)) {
      inputs.push_back(input);
      continue;
    }
    call.inputs.push_back(make_input(input.type(), str("x", call.inputs.size())));
    inputs.push_back(call.inputs.back());
  }
  try {
    std::shared_ptr<const Node> made = clone_with_inputs(node, std::move(inputs), node.bodies);
    if (!(made->types == node.types)) return std::nullopt;
    call.outputs.emplace_back(made);
    std::string text = graph_text(call);
    read_call(text, node.origin, node.op);
    return text;
  } catch (const UserError&) {  // its types or its text cannot be told from the call alone
    return std::nullopt;
  }
}

std::shared_ptr<const Node> read_call(const std::string& text, const Origin& origin, const Op* user_op) {
  InheritOrigin inherit(origin);
  const Graph call = parse_graph(
      text, [&](std::string_view name) { return user_op && name == user_op->name ? user_op : find_op(name); });
  if (call.outputs.size() != 1 || call.outputs[0].node().is_leaf())
    throw UserError({.what = "the text of a call is not that of one node", .got = text});
  return call.outputs[0].node_ptr();
}

void run_reference_step(Function::State& s, size_t number, void* const* buffers) {
  const std::vector<ReferenceStep>& steps = s.program->image.reference_steps;
  auto step = std::find_if(steps.begin(), steps.end(), [&](const ReferenceStep& r) { return r.number == number; });
  TH_CHECK(step != steps.end(), "step ", number, " does not run through a reference");
  auto value = [&](size_t i) {
    const ReferenceStep::Value& v = step->values[i];
    if (!v.has_elements) return Tensor(false);
    return Tensor::wrap(v.type.dtype, s.canonical_lengths.evaluate(v.type.dims),
                        s.canonical_lengths.evaluate(v.strides), buffers[i], nullptr);
  };
  read_lengths(s);
  std::vector<Tensor> inputs;
  // References read dense elements, whatever layout the op accepts.
  for (size_t i = 0; i < step->inputs; ++i) inputs.push_back(value(i).contiguous());
  std::vector<Tensor> outputs;
  try {
    outputs = evaluate_node(*step->node, inputs, s.canonical_lengths);
  } catch (const UserError& error) {
    if (!step->after_write) throw;
    throw with_changed_variables(error);
  }
  for (size_t o = 0; o < outputs.size(); ++o)
    if (step->values[step->inputs + o].has_elements) value(step->inputs + o).assign(outputs[o]);
}

}  // namespace thtrain
