// Elementwise nodes become loops: each region of them one `fused` node with a body.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// tanh(x + b) -> fused(x, b). Exact: the same operations on the same elements.
///
/// A node joins the region of its reader where both have the same lengths, every reader of it is in that region (or it
/// becomes another output of it), and no path leads out of the region and back. Regions of more than 64 nodes or 24
/// operands are not grown: their values would not stay in registers. Runs last, when no rule wants to see single nodes.
Graph fuse_elementwise(const Graph& graph, const PassContext& context);

}  // namespace thtrain
