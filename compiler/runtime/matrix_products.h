// ThContext's matrix products: single-threaded BLAS calls on our own static partition.
#pragma once

#include "compiler/codegen/entry_abi.h"

namespace thtrain {

/// Sets gemm, gemv and ger of `context`, and loads OpenBLAS if no one has. The semantics are those that entry_abi.h
/// states, with these corners: with an inner length of 0, A and B are not read, and alpha 0 is added; a leading
/// dimension does not matter where the matrix has one row; increments may be negative (x and y point at the first entry
/// all the same), and that of x may be 0. BLAS does not look at what a factor of 0 multiplies, so those products take a
/// way of their own. The result depends on the arguments, context->threads and the library only. UserError where there
/// is no OpenBLAS.
void set_matrix_products(ThContext& context);

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
