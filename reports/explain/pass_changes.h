// What each pass of a function did: rules that fired and removed and added lines of the graph; and that as text.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph_difference.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// Rewrites of one pass that read the same.
struct RuleUse {
  std::string rule, before, after;  // short_text() of both sides
  Safety safety;
  int64_t times = 1;
};

struct PassChange {
  const PassRecord* pass;
  const Graph* before;
  NodeNumbers numbers = {};  // of both graphs: a node keeps its number from pass to pass
  GraphDifference difference = {};
  std::vector<RuleUse> rules = {};  // in the order in which they first fired
  int64_t fired = 0;                // rewrites
};

/// Of every pass that ran, in order. `explanation` must outlive it.
std::vector<PassChange> pass_changes(const Explanation& explanation);

/// "exact", "reassociating", "range-changing", "finite-math": docs/semantics.md
const char* name_of(Safety safety);

/// The graph that the first pass takes; then pass by pass what it is for, nodes before and after (those of bodies
/// counted), the rules that fired with their safety and what became of what, and the lines of the graph with - and +.
std::string rewrites_text(const Explanation& explanation);

}  // namespace thtrain
