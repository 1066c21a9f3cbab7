// Slices whose start changes from call to call, for targets that replay calls.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// x[start : start + 2] -> the same with start as an input of the node. The part is then copied by a kernel that loads
/// the start, to an address that stays; as a view it would lie elsewhere in each call. Exact. Only where the target
/// replays calls (Target::replays_calls), and where a start is the value of an input or of a shared variable.
Graph read_starts(const Graph& graph, const PassContext& context);

}  // namespace thtrain
