// Convolutions on a device without measurements.
#pragma once

#include <string>

#include "compiler/kernel/target.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// The candidate that is taken then, which follows from the lengths alone: a direct one of few channels; Winograd's of
/// at least 32, where its bound is at most the tolerance; else patches.
std::string usual_on_device(const Convolution& convolution, const kernel::Target& target, double tolerance);

}  // namespace thtrain
