// Calls of graphs that are better without a call.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// graph_call(x) -> the call's graph on x, where the user asked for it (GraphOpOptions::inlined) or where the graph is
/// of elementwise operations alone: such a call would read and write whole arrays that a fused loop keeps in registers.
/// A graph that prints or defines lengths stays a call. Exact. A graph that is compiled has its derivatives already.
Graph inline_calls(const Graph& graph, const PassContext& context);

}  // namespace thtrain
