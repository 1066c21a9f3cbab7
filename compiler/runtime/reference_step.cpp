#include "compiler/runtime/reference_step.h"

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ops/registry.h"

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
    read_call(text, node.origin);
    return text;
  } catch (const UserError&) {  // its types or its text cannot be told from the call alone
    return std::nullopt;
  }
}

std::shared_ptr<const Node> read_call(const std::string& text, const Origin& origin) {
  InheritOrigin inherit(origin);
  const Graph call = parse_graph(text, find_op);
  if (call.outputs.size() != 1 || call.outputs[0].node().is_leaf())
    throw UserError({.what = "the text of a call is not that of one node", .got = text});
  return call.outputs[0].node_ptr();
}

}  // namespace thtrain
