// Elementwise nodes become loops: each region of them one `fused` node with a body.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// tanh(x + b) -> fused(x, b). Exact: the same operations on the same elements.
///
/// A node joins the region of one of its readers where both have the same lengths and that creates no cycle
/// (regions.h). A value of the region that nodes outside read is one more output of its loop. A gather that only one
/// region reads (take, pick_rows) is a load of its loop: docs/decisions/0007. Runs after all rules, which match single
/// nodes.
Graph fuse_elementwise(const Graph& graph, const PassContext& context);

}  // namespace thtrain
