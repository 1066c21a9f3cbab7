// Factorizations and triangular equations on a device, of matrices of any size.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/factor/factor.h"

namespace thtrain {

/// Each by the steps of its reference, of floats. One block takes a matrix.
void lower_device_lu(kernel::StepBuilder& b);
/// As lu; a second kernel fails the call by `check`.
void lower_device_cholesky(kernel::StepBuilder& b, kernel::RuntimeCheck check);
/// One thread takes a column of the right-hand side.
void lower_device_triangular_solve(kernel::StepBuilder& b, const Triangle& triangle, kernel::RuntimeCheck check);

}  // namespace thtrain
