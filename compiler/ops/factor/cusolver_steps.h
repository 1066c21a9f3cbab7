// Factors of real matrices by cuSOLVER on a device, where it is a candidate.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// The step of cholesky, eigh or svd, an op of floats, by the chosen candidate; `otherwise` where the lengths are not
/// known, and where "kernel" is chosen, which only cholesky has. `check` fails where cuSOLVER finds no factors.
void lower_decomposition(kernel::StepBuilder& builder, const kernel::RuntimeCheck& check,
                         void (*otherwise)(kernel::StepBuilder&));

}  // namespace thtrain
