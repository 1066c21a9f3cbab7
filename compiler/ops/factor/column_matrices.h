// Matrices of a device by columns, as CUDA's libraries take them, and their elements in kernels.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/elemwise/parts.h"

namespace thtrain {

/// Element `index` of an operand of floats or complex numbers, by a kernel's thread.
Parts load_number(kernel::StepBuilder& b, const kernel::Operand& from, const kernel::Term& index);
void store_number(kernel::StepBuilder& b, const kernel::Operand& to, const kernel::Term& index, const Parts& value);
/// The absolute value, without overflow of squares.
kernel::Term modulus(kernel::Code& code, const Parts& x, DType real);
/// x divided by its modulus; 1 where that is 0.
Parts sign_of(kernel::Code& code, const Parts& x, const kernel::Term& modulus, DType real);
/// x times y, or times the conjugate of y.
Parts times(const Parts& x, const Parts& y, bool conjugates = false);

/// A kernel: to = the transposes of `count` row-major matrices [rows, columns].
void transpose_matrices(kernel::StepBuilder& b, int64_t count, int64_t rows, int64_t columns,
                        const kernel::Operand& from, const kernel::Operand& to, const char* comment);

}  // namespace thtrain
