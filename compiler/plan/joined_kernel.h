// One kernel of several.
#pragma once

#include <span>

#include "compiler/plan/program.h"

namespace thtrain {

/// Its first blocks do what those of the first step's kernel do, the next ones what the second step's do, and so on; of
/// more threads than a part has, the others do nothing there. Shared arrays are beside each other, names are made
/// different. The steps are kernels of a device.
Step joined_kernel(std::span<const Step> steps);

}  // namespace thtrain
