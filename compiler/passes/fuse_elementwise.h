// Elementwise nodes become loops: each region of them one `fused` node with a body.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// tanh(x + b) -> fused(x, b). Exact: the same operations on the same elements.
///
/// A node joins the region of one of its readers where both have the same lengths and no way leads out of the region
/// and back; what others read of a region is another output of its loop. What one region alone reads through an index
/// (take, pick_rows) is loaded by its loop: docs/decisions/0007. Regions of more than 64 nodes or 24 operands are not
/// grown: their values would not stay in registers. Runs last, when no rule wants to see single nodes.
Graph fuse_elementwise(const Graph& graph, const PassContext& context);

}  // namespace thtrain
