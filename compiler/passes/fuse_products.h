// Matrix products take in the elementwise expressions around them: each region one `fused_product` node with a body.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// tanh(dot(x, W) + b) -> fused_product(x, W, b); v' = gemm(m v, ...), W + v' -> one kernel that reads v and W once.
/// Reassociating where a kernel goes through the inner length in slabs, since c joins the sum of all of them and not
/// the first; else exact.
///
/// For products that the context's chooser gives to a generated kernel; a library's product has no epilogue. A region
/// holds one product, and elementwise nodes of its lengths whose elements are no wider than its own. The factors of the
/// product are computed before.
Graph fuse_products(const Graph& graph, const PassContext& context);

}  // namespace thtrain
