// Factors of matrices by cuSOLVER on a device, where it is a candidate.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// The step of cholesky, eigh, svd or qr by the chosen candidate; `otherwise` where the lengths are not known, and
/// where "own" is chosen: the kernel of cholesky of floats, else the host. `check` fails where cuSOLVER finds no
/// factors, which qr always has.
void lower_decomposition(kernel::StepBuilder& builder, const kernel::RuntimeCheck& check,
                         void (*otherwise)(kernel::StepBuilder&));

}  // namespace thtrain
