// Reductions and the elementwise expressions around them become row-wise kernels.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// exp(x) / sum(exp(x), 1, keepdims) -> fused_reduction(x)
///
/// First, ops that expand into elementwise ops and reductions do so (Op::expand: softmax along an axis of known
/// length), but for softmax that the chooser leaves to a library. Then a reduction joins one region with the
/// elementwise expressions that it reads, those that are computed from it, and further reductions over the same axes:
/// softmax, a normalization, the mean of a loss, a bias's gradient with its update. The operations are the same, but a
/// kernel adds in an order of its own, and an expanded op is equal within its own bound. Runs before fuse_elementwise,
/// which takes the elementwise nodes that are left.
Graph fuse_reductions(const Graph& graph, const PassContext& context);

}  // namespace thtrain
