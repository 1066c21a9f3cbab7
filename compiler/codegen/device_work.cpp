#include "compiler/codegen/device_work.h"

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

}  // namespace thtrain
