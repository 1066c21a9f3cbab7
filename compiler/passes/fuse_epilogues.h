// Ops whose kernels can begin and end with elementwise expressions take in those around them: Op::epilogue.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// tanh(dot(x, W) + b) -> fused_product(x, W, b); v' = gemm(m v, ...), W + v' -> one kernel that reads v and W once.
/// Reassociating where a kernel goes through the inner length in slabs, since c joins the sum of all of them and not
/// the first; else exact.
///
/// For nodes whose implementation, by the context's chooser, takes an epilogue: a generated kernel does, a library's
/// function does not. A region holds one such node, and elementwise nodes of its lengths whose elements are no wider
/// than its own. What it needs as a whole is computed before.
Graph fuse_epilogues(const Graph& graph, const PassContext& context);

}  // namespace thtrain
