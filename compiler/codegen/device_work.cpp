#include "compiler/codegen/device_work.h"

namespace thtrain {

bool DeviceWork::may_fail(const Step& step) {
  const auto* call = std::get_if<kernel::KernelCall>(&step.code);
  return call && call->function->is_of_device() && kernel::contains<kernel::Fail>(call->function->body);
}

bool DeviceWork::can_read_failure(const Step& step) {
  const auto* call = std::get_if<kernel::KernelCall>(&step.code);
  if (!call) return false;
  const kernel::Block& body = call->function->body;
  return !may_fail(step) || !(kernel::contains<kernel::Barrier>(body) || kernel::contains<kernel::Shuffle>(body));
}

DeviceWork DeviceWork::of(const Step& step) {
  return {.copies = std::holds_alternative<kernel::Transfer>(step.code), .checks = may_fail(step)};
}

DeviceWork DeviceWork::of(const Region& region) {
  DeviceWork out;
  for_each_step(region, [&](const Step& step) { out += of(step); });
  return out;
}

}  // namespace thtrain
