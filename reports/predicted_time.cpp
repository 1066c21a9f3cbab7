#include "reports/predicted_time.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace thtrain {

const std::vector<DeviceSheet>& device_sheets() {
  static const std::vector<DeviceSheet> out = {{"h200", "NVIDIA H200 SXM", 67e12, 34e12, 4.8e12},
                                               {"h100", "NVIDIA H100 SXM", 67e12, 34e12, 3.35e12},
                                               {"a100", "NVIDIA A100 SXM, 80 GB", 19.5e12, 9.7e12, 2.039e12},
                                               {"v100", "NVIDIA V100 SXM2", 15.7e12, 7.8e12, 0.9e12},
                                               {"l4", "NVIDIA L4", 30.3e12, 30.3e12 / 64, 0.3e12},
                                               {"t4", "NVIDIA T4", 8.1e12, 8.1e12 / 32, 0.32e12},
                                               {"rtx4090", "NVIDIA GeForce RTX 4090", 82.6e12, 82.6e12 / 64, 1.008e12},
                                               {"rtx3090", "NVIDIA GeForce RTX 3090", 35.6e12, 35.6e12 / 64, 0.936e12}};
  return out;
}

const DeviceSheet* find_device_sheet(const std::string& name) {
  const auto at = std::ranges::find(device_sheets(), name, &DeviceSheet::name);
  return at != device_sheets().end() ? &*at : nullptr;
}

static PredictedTime predicted(const Profile& profile, double flops, const std::function<double(double)>& stream_rate,
                               bool of_device) {
  PredictedTime out;
  for (const StepProfile& step : profile.steps) {
    const double runs = static_cast<double>(step.calls) / static_cast<double>(std::max<int64_t>(profile.calls, 1));
    if (of_device && !step.is_on_device) {
      out.host_steps += std::llround(runs);
      continue;
    }
    const double arithmetic = step.flops / flops, memory = step.bytes > 0 ? step.bytes / stream_rate(step.bytes) : 0;
    (arithmetic > memory ? out.seconds_of_arithmetic : out.seconds_of_memory) += runs * std::max(arithmetic, memory);
    out.flops += runs * step.flops;
    out.bytes += runs * step.bytes;
    out.steps += std::llround(runs);
  }
  out.seconds = out.seconds_of_arithmetic + out.seconds_of_memory;
  return out;
}

PredictedTime predicted_time(const Profile& profile, const MachineRates& rates) {
  return predicted(
      profile, rates.flops, [&](double bytes) { return rates.stream_rate(bytes); }, false);
}

PredictedTime predicted_time(const Profile& profile, const DeviceSheet& device, bool is_float64, int64_t launches,
                             double launch_seconds) {
  PredictedTime out = predicted(
      profile, is_float64 ? device.flops64 : device.flops32, [&](double) { return device.bytes_per_second; }, true);
  out.steps = launches;
  out.seconds_of_launches = static_cast<double>(launches) * launch_seconds;
  out.seconds += out.seconds_of_launches;
  return out;
}

}  // namespace thtrain
