#include "compiler/codegen/buffer_names.h"

#include "compiler/codegen/formula.h"

namespace thtrain {
namespace {

// Numbers of the operands that a step's call mentions.
std::vector<int> mentioned_operands(const Step& step, bool all) {
  std::vector<int> out;
  if (const auto* call = std::get_if<kernel::KernelCall>(&step.code); call && !all) return call->operands;
  if (const auto* library = std::get_if<kernel::LibraryCall>(&step.code); library && !all) {
    for (const kernel::LibraryArgument& argument : library->arguments)
      if (const auto* pointer = std::get_if<kernel::PointerTo>(&argument)) out.push_back(pointer->operand);
    return out;
  }
  for (size_t k = 0; k < step.operands.size(); ++k) out.push_back(static_cast<int>(k));
  return out;
}

std::vector<bool> mentioned_buffers(const Program& program, bool all_operands) {
  std::vector<bool> out(program.buffers.size());
  auto mention = [&](const BufferView& view) {
    if (view.buffer >= 0) out[static_cast<size_t>(view.buffer)] = true;
  };
  for_each_step(program.body, [&](const Step& step) {
    for (int k : mentioned_operands(step, all_operands)) mention(step.operands[static_cast<size_t>(k)]);
    for (const LengthDefinition& length : step.defines) mention(length.value);
  });
  for_each_condition(program.body, mention);
  return out;
}

// A temporary is called by the operation that the planner knows it by, or as the user named its value.
std::string wish_for(const Buffer& buffer, const Writer& writer) {
  const Node* node = writer.step ? writer.step->node : nullptr;
  if (buffer.kind == BufferKind::kTemporary && node && node->op->name == buffer.name)
    return describing_name(*node, writer.output);
  return buffer.name.empty() ? "value" : buffer.name;
}

}  // namespace

std::vector<Writer> first_writers(const Program& program) {
  std::vector<Writer> out(program.buffers.size());
  for_each_step(program.body, [&](const Step& step) {
    for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k)
      if (const int b = step.operands[k].buffer; b >= 0 && !out[static_cast<size_t>(b)].step)
        out[static_cast<size_t>(b)] = {&step, k - step.inputs};
  });
  return out;
}

std::vector<std::string> buffer_names(const Program& program, const std::vector<Writer>& writers, bool all_operands,
                                      Identifiers& identifiers) {
  const std::vector<bool> mentioned = mentioned_buffers(program, all_operands);
  std::vector<std::string> out(program.buffers.size());
  for (size_t b = 0; b < out.size(); ++b)
    if (mentioned[b]) out[b] = identifiers.unique(wish_for(program.buffers[b], writers[b]));
  return out;
}

size_t argument_number(const Program& program, BufferKind kind, size_t index) {
  size_t inputs = program.graph.inputs.size(), shared = program.shared.size(), constants = program.constants.size();
  switch (kind) {
    case BufferKind::kInput:
      return index;
    case BufferKind::kShared:
      return inputs + index;
    case BufferKind::kConstant:
      return inputs + shared + index;
    case BufferKind::kOutput:
      return inputs + shared + constants + index;
    case BufferKind::kTemporary:
      break;
  }
  TH_CHECK(false, "a temporary is no argument");
  return 0;
}

}  // namespace thtrain
