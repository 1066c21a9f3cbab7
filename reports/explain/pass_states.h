// The graph within a pass: before it, and after each of its rewrites, one by one.
#pragma once

#include <string>
#include <vector>

#include "reports/explain/pass_changes.h"

namespace thtrain {

struct PassState {
  Graph graph;
  std::string step = {};  // what led to it: "mul_by_one (exact): mul(1, l2) -> l2"; of the first state ""
};

inline constexpr size_t kMostStates = 200;

/// First the graph before the pass, last the one after it. Between them those that the rewrites made of it, in their
/// order: a rewrite replaces what it took, wherever it is in the graph, by what it gave, and equal nodes are one.
/// A rewrite of an expression that is not in the graph (within a loop's body, or one that another rewrite has replaced)
/// has no state of its own. What the pass does besides its rules is the last step. At most kMostStates.
std::vector<PassState> pass_states(const PassChange& change, const Explanation& explanation);

}  // namespace thtrain
