// A matrix that is multiplied by a vector and updated in the same step is walked through once.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// dot(d, W.T) beside W - h * d -> sum(W * d, 1) beside it, which `fuse_reductions` makes one loop with the update.
/// Training at batch 1 waits for memory: for each W the products of both directions read it, and the update reads and
/// writes it; this saves one reading of the three.
///
/// For products of one row or column with a large matrix that lies row by row along the sum, where an elementwise node
/// or a ger reads the same matrix and neither needs the other. Reassociating: the sum's order is that of reductions.
Graph fuse_matvec_update(const Graph& graph, const PassContext& context);

}  // namespace thtrain
