// What a model of the processor expects of the candidates of a matrix product, in cycles of one thread: what the rule
// goes by where nothing was measured. It counts what generated code does, and weighs it by the target's rates.
#pragma once

#include "compiler/kernel/target.h"
#include "compiler/ops/linalg/gemm_tiling.h"

namespace thtrain {

/// Of a generated kernel: its multiply-adds, what it packs, its sums on their way to C, and lines of the operands that
/// come from further away than the first cache.
double expected_cycles(const GemmTiling& tiling, const MatrixProduct& p, const kernel::Target& target);
/// Of BLAS, of operands in the second cache: its multiply-adds, and the copies of both operands that it makes, but for
/// vectors and where it has kernels for short products, which pack nothing.
double expected_library_cycles(const MatrixProduct& p, const kernel::Target& target);

}  // namespace thtrain
