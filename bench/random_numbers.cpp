// Uniform and normal numbers of both generators, as compiled functions.
#include <memory>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

Workload random_workload(const std::string& text, const WorkloadOptions& options) {
  const RandomCase what = random_case(text);
  const LengthList size{what.size};
  Expr sample;
  if (what.generator == "mrg") {
    const MrgRandomStreams rng(1);
    sample = what.normal ? rng.normal(size, 0.0, 1.0, options.dtype) : rng.uniform(size, 0.0, 1.0, options.dtype);
  } else {
    const RandomStreams rng(1);
    sample = what.normal ? rng.normal(size, 0.0, 1.0, options.dtype) : rng.uniform(size, 0.0, 1.0, options.dtype);
  }
  auto call = std::make_shared<Function>(
      function({}, {Out(sample, options.borrow)}, {}, {.threads = options.threads, .name = "bench " + text}));
  auto run = [call](long calls) {
    for (; calls > 0; --calls) (*call)({});
  };
  return {run, static_cast<double>(what.size)};
}

}  // namespace thtrain
