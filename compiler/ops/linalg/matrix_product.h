// How dot and gemm become steps: the library's product, or a kernel of our own where the chooser says so.
#pragma once

#include "compiler/ops/linalg/gemm_kernel.h"

namespace thtrain {

/// out = alpha a . b + beta out for matrices whose layouts a library can take. `alpha` and `beta` are numbers, or the
/// numbers of inputs.
void lower_matrix_product(kernel::StepBuilder& builder, const kernel::Operand& a, const kernel::Operand& b,
                          const GemmFactor& alpha, const GemmFactor& beta);

}  // namespace thtrain
