// What this machine allows, measured.
#pragma once

#include "reports/profile_report.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Measured now, in about a second: machines differ, and so do the hours of one. A ceiling is the fastest that was
/// seen.
MachineRates machine_rates(const CompilerConfig& config, int threads);

/// Of the device that computes: by its attributes (cuda::Device::ceilings); of the emulated one those of the host's
/// cores, measured now.
MachineRates device_rates(const CompilerConfig& config);

}  // namespace thtrain
