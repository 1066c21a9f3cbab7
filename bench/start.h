// The time from an experiment to the end of its first training step.
#pragma once

#include <string>
#include <vector>

#include "bench/workloads.h"

namespace thtrain {

/// "mlp_digits", "lenet_digits", "lstm_adding", "rbm_digits": those of configs/labs; "layers_20": 20 dense layers of
/// different widths, 67, 74, ... to 200.
const std::vector<std::string>& start_cases();

/// From the experiment, whose data is there, until its program has done one minibatch. Nothing is read from the cache
/// but what is in its folder.
double seconds_to_first_step(const std::string& name, const WorkloadOptions& options);

}  // namespace thtrain
