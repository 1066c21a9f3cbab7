// Loops store their results straight into the part of another value that a scatter would write them to.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// set_subtensor(x[2:4], fused(y)) -> fused_scatter(x, y). Exact: the same operations on the same elements, stored once
/// instead of twice.
///
/// Where the loop has one result, which only the scatter reads, and the loop does not read the value that is written
/// into (which could then not be written in place), and gathers nothing. Runs after `fuse_elementwise`.
Graph fuse_scatters(const Graph& graph, const PassContext& context);

}  // namespace thtrain
