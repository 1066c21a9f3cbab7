// The time of a training step by a roofline (S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual
// performance model for multicore architectures", CACM 52(4), 2009): each step of a program takes at least its
// floating-point operations at the machine's rate, and at least the bytes of its operands at that of the memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/profile_report.h"

namespace thtrain {

/// A CUDA device by its data sheet: without tensor cores, without sparsity, at its boost clock.
struct DeviceSheet {
  const char* name;  // "h100"
  const char* full_name;
  double flops32, flops64;  // floating-point operations a second, multiply-adds counted as two
  double bytes_per_second;  // of its memory
};
const std::vector<DeviceSheet>& device_sheets();
/// Null where none has this name.
const DeviceSheet* find_device_sheet(const std::string& name);

/// What one call of a profiled function needs. Each step reads and writes its operands once.
struct PredictedTime {
  double flops = 0, bytes = 0;
  /// Runs of kernels, library calls and copies, those of loops by iteration; of a device its launches.
  int64_t steps = 0;
  int64_t host_steps = 0;            // of a device's program those that the host does; nothing else counts them
  double seconds = 0;                // of the steps one after the other, with their launches
  double seconds_of_arithmetic = 0;  // of steps that wait for arithmetic
  double seconds_of_memory = 0;      // of the others
  double seconds_of_launches = 0;    // of a device
};
/// By the ceilings of this machine; arrays that fit in a cache go at its rate. The profile is of at least one call.
PredictedTime predicted_time(const Profile& profile, const MachineRates& rates);
/// On a device. `launch_seconds` is what a launch takes besides its work; `launches` are those of a step with
/// its copies: the nodes of its graphs. Everything goes at the rate of the memory: a device's cache may be faster.
PredictedTime predicted_time(const Profile& profile, const DeviceSheet& device, bool is_float64, int64_t launches,
                             double launch_seconds);

}  // namespace thtrain
