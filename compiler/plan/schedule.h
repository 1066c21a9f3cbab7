// The order of a graph's nodes: inputs first, and writers of shared variables after the last reader of the old value.
#pragma once

#include <unordered_set>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

struct Schedule {
  std::vector<const Node*> order;
  /// Updates (by their number) whose producer comes after every other reader of the variable: may write in place.
  std::unordered_set<size_t> late_enough;
};

/// Deterministic; n log n in the number of nodes.
Schedule schedule(const Graph& graph);

}  // namespace thtrain
