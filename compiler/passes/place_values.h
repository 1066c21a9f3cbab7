// Where the user has placed values: what is computed from them on the host, and what is copied there.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// For a device: tanh(y) + on_host(x) -> on_host(tanh(y)) + on_host(x). What a node on the host reads of the device is
/// placed by a node of its own, so that no rule and no fusion makes one node of both. Placements of values that lie
/// there already go. An update by a value on the host, and an output that is a view of one, are copies of it, which are
/// made there too. For a
/// processor: on_host(x) -> x. Exact.
Graph place_values(const Graph& graph, const PassContext& context);

}  // namespace thtrain
