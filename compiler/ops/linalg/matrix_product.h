// How dot and gemm become steps: the library's product, or a kernel of our own where the chooser says so.
#pragma once

#include "compiler/ops/linalg/gemm_kernel.h"

namespace thtrain {

/// Input 0 in the output, so that a product can be added to it: a copy, unless the step writes over input 0.
void copy_addend(kernel::StepBuilder& builder);

/// out = alpha a . b + beta in0 for matrices whose layouts a library can take. `alpha` and `beta` are numbers, or the
/// numbers of inputs; for a literal 0 as beta there is no in0.
void lower_matrix_product(kernel::StepBuilder& builder, const kernel::Operand& a, const kernel::Operand& b,
                          const GemmFactor& alpha, const GemmFactor& beta);

}  // namespace thtrain
