// Sums with a matrix product in them become one call that accumulates: GEMM, GEMV, GER.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// W - lr * dot(x.T, d) -> gemm(W, -lr, x.T, d, 1), and every other spelling: sums, differences, signs and scalar
/// factors in any nesting, as long as nobody else reads the inner values. W * (1 - c) - lr * dot(...) puts the factor
/// of W into beta; of several products, each accumulates into the result of the one before. Reassociating: the product
/// is rounded once together with its scale. The outermost sum wins, so that the accumulation goes into the outer
/// value. Runs before fuse_elementwise, which would swallow the sums.
Graph find_gemm(const Graph& graph, const PassContext& context);

}  // namespace thtrain
