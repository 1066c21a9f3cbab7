// Default updates: a function that computes a draw from a generator also moves the generator on.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// From now on the shared variable is the state of a generator whose draws have default updates.
void give_default_updates(const Expr& variable);

/// The updates of the generators that draws of the graph (Op::advances) read and that it does not update yet: what
/// follows the draw that was built first. The value is empty where bodies of the graph read the generator, and no draw
/// outside of them does: each iteration of a loop would see the same state.
std::vector<Update> default_updates(const Graph& graph);

}  // namespace thtrain
