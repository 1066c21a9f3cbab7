// What a loop computes and carries for nobody.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

namespace thtrain {

/// scan(a, b -> f(a), g(a, b))[0] -> scan(a -> f(a))[0]: elements that nobody reads, states that neither somebody
/// outside nor another needed state reads, and sequences and captures that are left without a reader leave the loop. So
/// the gradient by one of several weights carries the sum of that one alone. Exact. Inner loops come after outer ones,
/// whose bodies then read less of them. What has an effect, and the condition that ends a loop, stays.
///
/// Runs before hoist_from_loops.
Graph trim_loops(const Graph& graph, const PassContext& context);

}  // namespace thtrain
