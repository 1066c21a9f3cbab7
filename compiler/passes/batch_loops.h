// Work of a loop's body that waits for no state: done for all iterations at once, outside the loop.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

namespace thtrain {

/// scan(h -> tanh(dot(u_t, W) + dot(h, V))) -> let z = dot(u, W) in scan(h -> tanh(z_t + dot(h, V))). Three kinds of
/// work leave a loop:
/// - before it: products of elements of sequences by values that no iteration changes, and what is computed from them;
/// - after it: what the body gives and no later iteration reads, where it follows from sequences alone (the loop is
/// then a
///   map, and its body becomes loops over all iterations), or where it contains a product (it is then computed from the
///   history of the states);
/// - sums: a state to which each iteration adds a product, as the gradients of weights are, becomes one product after
/// the
///   loop, over all iterations and rows.
/// So a few large products are where there were many small ones. What is kept for it, the values of all iterations,
/// costs memory in proportion to the iterations. Elementwise work alone stays in the loop, where it costs nothing
/// compared with the rest. Products are summed in another order: reassociating. Loops that a condition may end, and
/// those with effects, stay as they are.
///
/// Runs after hoist_from_loops.
Graph batch_loops(const Graph& graph, const PassContext& context);

}  // namespace thtrain
