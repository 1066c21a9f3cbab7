#include "compiler/runtime/reference_step.h"

#include <algorithm>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

std::vector<ReferenceStep> reference_steps_of(const Program& program) {
  std::vector<ReferenceStep> out;
  size_t number = 0;
  for_each_step(program.body, [&](const Step& step) {
    size_t own = number++;
    if (!std::holds_alternative<kernel::ReferenceCall>(step.code)) return;
    ReferenceStep made{own, step.node->self.lock(), {}, step.inputs, nullptr};
    for (const BufferView& operand : step.operands)
      made.values.push_back({operand.buffer >= 0, operand.type, operand.layout.strides});
    out.push_back(std::move(made));
  });
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
  std::vector<Tensor> outputs = evaluate_node(*step->node, inputs, s.canonical_lengths);
  for (size_t o = 0; o < outputs.size(); ++o)
    if (step->values[step->inputs + o].has_elements) value(step->inputs + o).assign(outputs[o]);
}

}  // namespace thtrain
