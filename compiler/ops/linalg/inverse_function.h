// The library function behind the inverse of a matrix.
#pragma once

#include "compiler/kernel/step_builder.h"

/// The parameters after the ThContext*. out = a^-1, both row-major [n, n]; `work` holds n * kInverseBlock elements,
/// `pivots` n. Gives 0, or the number of the first pivot that is 0, from 1.
#define TH_INVERSE_PARAMETERS(T) long n, const T *a, T *out, T *work, int *pivots

namespace thtrain {

/// Columns that LAPACK takes at a time.
inline constexpr long kInverseBlock = 64;
/// "inverse_f32" or "inverse_f64".
const kernel::LibraryFunction& inverse_function(DType dtype);

}  // namespace thtrain
