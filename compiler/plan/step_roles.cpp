#include "compiler/plan/step_roles.h"

namespace thtrain {

static Roles roles_of_step(const Step& step, const Program& program, const NodeMap<Roles>& roles) {
  Roles of_parts;
  for (const Step& part : step.parts) of_parts |= roles_of_step(part, program, roles);
  if (of_parts.any()) return of_parts;
  if (const Roles* own = step.node ? roles.find(step.node) : nullptr; own && own->any()) return *own;
  for (size_t k = step.inputs; !step.node && k < step.inputs + step.outputs; ++k)
    if (const int b = step.operands[k].buffer; b >= 0)
      if (program.buffers[static_cast<size_t>(b)].kind == BufferKind::kShared) return {.update = true};
  return {.forward = !step.origin.in_gradient, .gradient = step.origin.in_gradient};
}

std::vector<Roles> step_roles(const Program& program) {
  const NodeMap<Roles> roles = roles_of(program.graph);
  std::vector<Roles> out;
  for_each_step(program.body, [&](const Step& step) { out.push_back(roles_of_step(step, program, roles)); });
  return out;
}

}  // namespace thtrain
