#include "cli/machine_rates.h"

#include "bench/workloads.h"
#include "compiler/cuda/device_program.h"
#include "trainers/program.h"

namespace thtrain {

MachineRates machine_rates(const CompilerConfig& config, int threads) {
  WorkloadOptions options{.dtype = config.floatX, .threads = threads};
  const auto width = static_cast<double>(size_of(config.floatX));
  MachineRates out{.flops = 1e9 * measure(gemm_ceiling("2x2x2/NN", options), 0.2).high};
  for (int64_t elements : {4'000, 30'000, 300'000, 2'000'000, 10'000'000}) {
    MachineRates::Stream& stream = out.streams.emplace_back();
    for (auto [formula, arrays] : {std::pair("a+1", 2), {"2a+3b", 3}}) {  // read one or two, write one
      const Workload workload = elementwise_ceiling(str(formula, '/', elements), options);
      const double rate = arrays * width * measure(workload, 0.05).high;
      if (rate > stream.bytes_per_second)
        stream = {.size = arrays * width * static_cast<double>(elements), .bytes_per_second = rate};
    }
  }
  return out;
}

MachineRates device_rates(const CompilerConfig& config) {
  const kernel::Target target = device_target(config).value();
  if (target.is_emulated()) {
    MachineRates out = machine_rates(config, target.cores);
    out.device = "the host, which computes for the device";
    return out;
  }
  const cuda::Device& device = device_of(target).device;
  const cuda::Device::Ceilings ceilings = device.ceilings();
  return {.flops = config.floatX == DType::kFloat64 ? ceilings.flops64 : ceilings.flops32,
          .streams = {{.size = 0, .bytes_per_second = ceilings.bytes}},
          .device = str("the ", device.name(), ", by its attributes")};
}

}  // namespace thtrain
