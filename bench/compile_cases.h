// How long compiling takes: graphs of a given number of nodes, and what a user waits for.
#pragma once

#include <string>

#include "bench/workloads.h"

namespace thtrain {

/// A case is "mlp/1000": the kind of graph ("mlp", a deep network with its gradient; "chain", one elementwise after
/// another; "sum", a wide sum) and about how many nodes it has before any pass. Rates are nodes a second through
/// passes, planner and printer together, without the host's compiler. The median, lowest and highest of three; of one
/// from 100,000 nodes on.
Rate measure_compile(const std::string& text, const WorkloadOptions& options);

}  // namespace thtrain
