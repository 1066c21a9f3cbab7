// How long compiling takes: graphs of a given number of nodes, and what a user waits for.
#pragma once

#include <string>

#include "bench/workloads.h"

namespace thtrain {

/// UserError for a text that is no case of `compile`.
void check_compile_case(const std::string& text);

/// A case "chain/1000" is a graph of about so many nodes before any pass: "mlp", a deep network with its gradient and
/// updates; "chain", one elementwise op after another; "sum", a wide sum. Nodes a second, by implementation: "thtrain",
/// passes, planner and printer together; "host_compiler", the system's compiler on what was printed.
///
/// A case "cold/784-500-10/60" or "warm/784-500-10/60" is a training step (of bench/peers/net.py's kind) from the first
/// expression to a function that can be called, in a process of its own, with a cache that is empty or has it;
/// "cold/1000-layers" one of so many layers of 16 units; "cold/sines/10000" a graph of that kind (large_graphs.h) and
/// of so many nodes. Starts a second; "host_compiler" has none.
///
/// The median, lowest and highest of three; of one where it takes long. What is compiled goes to $THTRAIN_CACHE_DIR.
Rate measure_compile(const std::string& text, const std::string& implementation, const WorkloadOptions& options);

}  // namespace thtrain
