// The matrix products that programs call: single-threaded BLAS calls on our own static partition.
#pragma once

#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/linalg/library_functions.h"

namespace thtrain {

/// The semantics are those that ops/linalg/library_functions.h states, with these corners: with an inner length of 0, A
/// and B are not read, and alpha 0 is added; a leading dimension does not matter where the matrix has one row;
/// increments may be negative (x and y point at the first entry all the same), and that of x may be 0. BLAS does not
/// look at what a factor of 0 multiplies, so those products take a way of their own. The result depends on the
/// arguments, context->threads and the library only.
struct MatrixProducts {
  void (*gemm_f32)(ThContext*, TH_GEMM_PARAMETERS(float));
  void (*gemm_f64)(ThContext*, TH_GEMM_PARAMETERS(double));
  void (*batched_gemm_f32)(ThContext*, TH_BATCHED_GEMM_PARAMETERS(float));
  void (*batched_gemm_f64)(ThContext*, TH_BATCHED_GEMM_PARAMETERS(double));
  void (*gemv_f32)(ThContext*, TH_GEMV_PARAMETERS(float));
  void (*gemv_f64)(ThContext*, TH_GEMV_PARAMETERS(double));
  void (*ger_f32)(ThContext*, TH_GER_PARAMETERS(float));
  void (*ger_f64)(ThContext*, TH_GER_PARAMETERS(double));
};
/// Loads OpenBLAS at the first call; UserError where there is none.
const MatrixProducts& matrix_products();

/// The same by the names that programs list.
NamedFunctions blas_functions();

namespace detail {
/// Pieces start at multiples of the widest microkernel's rows or columns.
constexpr long kGemmUnit = 16;
/// How a product [m, k] x [k, n] is divided: a grid of row_pieces x column_pieces.
struct GemmGrid {
  int row_pieces = 1, column_pieces = 1;
};
GemmGrid gemm_grid(long m, long n, long k, int threads);
}  // namespace detail

}  // namespace thtrain
