// Matrix products take in the elementwise expressions around them: each region one `fused_product` node with a body.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// tanh(dot(x, W) + b) -> fused_product(x, W, b); v' = gemm(m v, ...), W + v' -> one kernel that walks v and W once.
/// Reassociating where a kernel goes through the inner length in slabs, since c joins the sum of all of them and not
/// the first; else exact.
///
/// For products that the context's chooser gives to a kernel of ours; a library's has no place for more. A region holds
/// one product, elementwise nodes with its lengths and no wider elements. What the product multiplies is computed
/// before.
Graph fuse_products(const Graph& graph, const PassContext& context);

}  // namespace thtrain
