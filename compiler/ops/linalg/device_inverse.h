// The inverse of a matrix on a device.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// out0 = in0^-1 by Gauss and Jordan in the memory of out0, with the pivots of the LU factorization of the transposed
/// matrix, as the reference has them. One block takes the matrix; a second kernel fails the call by `singular`, with
/// the number of the first pivot that is 0, from 1.
void lower_device_inverse(kernel::StepBuilder& b, kernel::RuntimeCheck singular);

}  // namespace thtrain
