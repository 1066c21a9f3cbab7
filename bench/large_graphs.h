// Graphs of thousands of nodes, of the kinds whose compile time used to grow faster than they.
#pragma once

#include <string>
#include <vector>

#include "bench/workloads.h"
#include "compiler/ir/graph.h"

namespace thtrain {

/// "sines": the gradient of a chain of sines. "switches": each chooses between the one before and a number. "join": of
/// computed values. "sum": of sines of multiples. "writes": a part of a vector set, then the next. "tree": sums and
/// products in pairs. "outputs": a graph with a result for each fifth node.
const std::vector<std::string>& large_graph_kinds();

/// A graph of that kind of about `nodes` nodes, before any pass, over vectors of unknown length. UserError for another
/// kind.
Graph large_graph(const std::string& kind, int64_t nodes, DType dtype);

/// From the first expression of such a graph to a function that can be called.
double seconds_to_build_graph(const std::string& kind, int64_t nodes, const WorkloadOptions& options);

}  // namespace thtrain
