// Loops whose results are written into a part of another value write them there themselves.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// set_subtensor(x[2:4], fused(y)) -> fused_scatter(x, y). Exact: the same operations on the same elements, stored once
/// instead of twice.
///
/// Where the scatter alone reads the loop's one result, and the loop reads nothing of the value that is written into
/// (that could then not be written in place), and nothing through an index. Runs after `fuse_elementwise`.
Graph fuse_scatters(const Graph& graph, const PassContext& context);

}  // namespace thtrain
