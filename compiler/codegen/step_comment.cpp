#include "compiler/codegen/step_comment.h"

#include <algorithm>

#include "compiler/codegen/formula.h"

namespace thtrain {

static constexpr size_t kFormulaLength = 200;

static bool writes_nothing(const Step& step) {
  const auto* call = std::get_if<kernel::KernelCall>(&step.code);
  return call && std::ranges::none_of(call->function->buffers, &kernel::BufferParameter::written);
}

std::string step_comment(const Program& program, const Step& step, const std::vector<std::string>& variables) {
  const std::string scope = step.origin.scope ? str("  [", step.origin.scope->path, "]") : std::string();
  auto name = [&](size_t k) -> std::string {
    const int b = step.operands[k].buffer;
    if (b < 0) return k < step.inputs ? "token" : "";
    const std::string& variable = variables[static_cast<size_t>(b)];
    return variable.empty() ? program.buffers[static_cast<size_t>(b)].name : variable;
  };
  if (!step.node) return str(step.comment, ": ", name(1), " = ", name(0));
  const std::string text = formula(
      *step.node, name, [&](size_t k) { return k < step.outputs ? name(step.inputs + k) : ""; }, kFormulaLength);
  const auto* call = step.candidate_file.empty() ? nullptr : std::get_if<kernel::LibraryCall>(&step.code);
  return str(writes_nothing(step) ? "checks of " : "", text, scope, call ? ", by the " + text_of(step, *call) : "");
}

}  // namespace thtrain
