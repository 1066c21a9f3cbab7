// A matrix that is multiplied by a vector and updated in the same program is read once for both.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// dot(d, W.T) and W - h * d -> sum(W * d, 1) and the same, which `fuse_reductions` makes one loop with the update.
/// Training at batch 1 waits for memory: for each W the products of both directions read it, and the update reads and
/// writes it; this saves one reading of the three.
///
/// For nodes with a loop form (Op::loop_form) over a large array, where another node computes an element for each of
/// the array's, in a loop of its own or by its own loop form, and neither is computed from the other. Reassociating:
/// the sum's order is that of reductions.
Graph fuse_matvec_update(const Graph& graph, const PassContext& context);

}  // namespace thtrain
