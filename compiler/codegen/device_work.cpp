#include "compiler/codegen/device_work.h"

#include <algorithm>

namespace thtrain {

bool DeviceWork::may_fail(const Step& step) {
  const auto* call = std::get_if<kernel::KernelCall>(&step.code);
  return call && call->function->is_of_device() && kernel::contains<kernel::Fail>(call->function->body);
}

DeviceWork DeviceWork::of(const Step& step) {
  return {.copies = std::holds_alternative<kernel::Transfer>(step.code), .checks = may_fail(step)};
}

DeviceWork DeviceWork::of(const Region& region) {
  DeviceWork out;
  for_each_step(region, [&](const Step& step) { out += of(step); });
  return out;
}

bool leaves_work(const Program& program) {
  bool out = program.target.is_device() && std::ranges::none_of(program.buffers, [](const Buffer& buffer) {
               return buffer.kind == BufferKind::kOutput && !buffer.on_device;
             });
  const bool has_checks = DeviceWork::of(program.body).checks;
  for_each_step(program.body, [&](const Step& step) {
    const bool is_argument = std::holds_alternative<kernel::Transfer>(step.code) &&
                             program.buffers[static_cast<size_t>(step.operands[0].buffer)].kind == BufferKind::kInput;
    // A library does not ask whether a check has failed.
    const bool is_call = is_device_library(step) && !ends_graph(step) && !trusts_indices(step) &&
                         !(has_checks && writes_shared(program, step));
    out = out && (is_argument || is_call || std::holds_alternative<kernel::KernelCall>(step.code));
  });
  return out;
}

}  // namespace thtrain
