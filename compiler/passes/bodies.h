// Passes inside the bodies of loops and branches.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// Has a node of the graph a body? (Those of fused nodes are no programs of their own, and do not count.)
bool has_bodies(const Graph& graph);
/// The graph, each body of which is what `pass` makes of it.
Graph in_bodies(const Graph& graph, Graph (*pass)(const Graph&, const PassContext&), const PassContext& context);

}  // namespace thtrain
