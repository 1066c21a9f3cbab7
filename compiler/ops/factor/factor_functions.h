// The functions of LAPACK and BLAS that factorizations call, for `count` matrices one after the other, row-major.
// A complex number is two of T. A check that does not hold is reported by ThContext::fail with its number `check`, the
// pivot, from 1, and the matrix, from 0; the result is 1 then, else 0.
#pragma once

#include <string>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/linalg/library_functions.h"

/// out = the lower factor of a [n, n], 0 above the diagonal. May be in place.
#define TH_CHOLESKY_PARAMETERS(T) long count, long n, const T *a, T *out, int check
/// out = op(triangle of a)^-1 . b, with a [n, n], b [n, k]. out may be b.
#define TH_TRIANGULAR_SOLVE_PARAMETERS(T) \
  long count, long n, long k, int lower, int transposed, int unit, const T *a, const T *b, T *out, int check
/// The packed factors of a [n, n], the numbers of a's rows [n], the permutation's sign. `packed` may be a; `pivots` is
/// for the function's own use, [count, n].
#define TH_LU_PARAMETERS(T) long count, long n, const T *a, T *packed, long *rows, long *sign, int *pivots

namespace thtrain {

/// "cholesky_f32", and so on: f32, f64, c64, c128.
std::string factor_function_name(const std::string& name, DType dtype);
kernel::LibraryFunction cholesky_function(DType dtype);
kernel::LibraryFunction triangular_solve_function(DType dtype);
kernel::LibraryFunction lu_function(DType dtype);

}  // namespace thtrain
