// What a device computes how fast: formulas and reductions of arrays that lie there, a matrix product, and training
// steps, with what each of them launches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/kernel/target.h"

namespace thtrain {

/// "emulated", "cuda" or "cuda:1". UserError for another word, and where there is no such device.
kernel::Target device_named(const std::string& word);

struct DeviceMeasurement {
  std::string what;        // "sum1/4000x3000", "mlp 784-500-10/60"
  double seconds = 0;      // of a call, to its end
  double rate = 0;         // in `unit`
  std::string unit;        // "GB/s", "GFLOP/s", "examples/s"
  size_t kernels = 0;      // of the program; a loop launches its own once an iteration
  size_t graphs = 0;       // that a call launches
  size_t nodes = 0;        // of these graphs: kernels, copies and fills
  size_t host_steps = 0;   // ops that run on the host
  double difference = -1;  // from the processor's results: the largest, relative above 1; negative: not compared
};

/// Calls `found` for one after the other; `seconds` for each. With `quick` cases are small.
void measure_device(const kernel::Target& target, double seconds, bool quick,
                    const std::function<void(const std::string&)>& progress,
                    const std::function<void(const DeviceMeasurement&)>& found);

/// In Markdown, headed by the device, its driver and the compiler of its kernels.
std::string device_table(const kernel::Target& target, const std::vector<DeviceMeasurement>& all);
std::string json_line(const DeviceMeasurement& measurement);

}  // namespace thtrain
