// Is a graph well formed? Types every node anew and compares.
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace thtrain {

/// InternalError that names `after` (the pass that made the graph), the node and both types.
void verify(const Graph& graph, const std::string& after);

}  // namespace thtrain
