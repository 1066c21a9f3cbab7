// Matrix products written in the loop language, for known lengths: the tuner's own candidates.
//
// The scheme is Goto and van de Geijn's ("Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008),
// cut down to what small and skinny products need:
//
//   for each column tile of each C (threads share them)    `vectors` vectors wide
//     for each slab of the inner length                    `depth` long
//       for each block of rows                             `rows` high
//         accumulators[rows][vectors] stay in registers: for each p of the slab,
//           load `vectors` vectors of B, broadcast `rows` elements of A, multiply and add
//         C tile = beta C + alpha accumulators
//
// With an epilogue (a bias and an activation, the steps of an optimizer) the accumulators go into a small array
// instead, slab after slab, and from there, while it is in the first cache, to the epilogue.
//
// A is read where it lies. The first block of rows copies the tile of B into a panel (aligned, contiguous), row by row
// as it comes to them, so that arithmetic hides the latency of the copy; all blocks read the panel, and prefetch the
// next tile meanwhile. Where C is large and the inner length short, as in a weight's gradient, the stores to C are the
// bottleneck: "by rows" copies all of B into panels first (the second cache holds them), and then computes C row by
// row, which is its order in memory.
//
// Each element's products are added in the order of p, slab by slab, whatever the thread or the location in C: the bits
// depend on `depth` alone.
#pragma once

#include <variant>
#include <vector>

#include "compiler/ops/linalg/gemm_tiling.h"
#include "compiler/ops/linalg/kernel_epilogue.h"
#include "compiler/ops/linalg/matrix_layout.h"

namespace thtrain {

/// A known factor, or the number of the input that holds it.
using GemmFactor = std::variant<double, int>;

struct GemmCall {
  MatrixProduct product;    // no length is 0
  kernel::Operand a, b, c;  // c: what is written, and read where beta is not 0
  int64_t lda = 0, ldb = 0, ldc = 0;
  GemmFactor alpha = 1.0, beta = 0.0;       // with a beta that is known to be 0, C is not used
  KernelEpilogue* epilogue = nullptr;       // then c, alpha and beta are not used
  const kernel::Operand* addend = nullptr;  // row-major, of C's shape: what beta multiplies, instead of C's elements
  // Of known lengths and steps, product.count in all; then without an addend. With an epilogue all axes before the
  // rows.
  std::vector<BatchAxis> batch = {};
};

/// Adds the kernel to the step. Of integers alpha is 1, and beta 0.
void lower_gemm(kernel::StepBuilder& builder, const GemmCall& call, const GemmTiling& tiling);

}  // namespace thtrain
