// Linear equations with triangular matrices by cuBLAS on a device, where it is a candidate.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/factor/factor.h"

namespace thtrain {

/// The step of triangular_solve by the chosen candidate; `otherwise` where the lengths are not known, or "own" is
/// chosen: a kernel of floats, else the host. `check` fails where there is a 0 on the diagonal.
void lower_chosen_triangles(kernel::StepBuilder& builder, const Triangle& triangle, const kernel::RuntimeCheck& check,
                            void (*otherwise)(kernel::StepBuilder&));

}  // namespace thtrain
