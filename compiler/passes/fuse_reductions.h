// Reductions and the elementwise expressions around them become kernels that go row by row.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// exp(x) / sum(exp(x), 1, keepdims) -> fused_reduction(x)
///
/// The same operations, but a kernel adds up in its own order, and an op that expands into simpler ones (softmax along
/// an axis of known length, which does so first) is equal within its own bound. Then a reduction, what it reads and
/// what is computed from it element by element join one region, with further reductions over the same axes: softmax, a
/// normalization, the mean of a loss, a bias's gradient with its update. Runs before fuse_elementwise, which takes what
/// is left.
Graph fuse_reductions(const Graph& graph, const PassContext& context);

}  // namespace thtrain
