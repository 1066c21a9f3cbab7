// The order of a graph's nodes: inputs first, and writers of shared variables after the last reader of the old value.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

struct NodeOrder {
  std::vector<const Node*> order;
  /// For each update, the values that may be computed in the variable's buffer, because their nodes come after every
  /// other reader of the old value: the beginning of the chain of values_in_place(). Empty: none.
  std::vector<std::vector<Expr>> in_place;
};

/// Deterministic; n log n in the number of nodes.
NodeOrder schedule(const Graph& graph);

}  // namespace thtrain
