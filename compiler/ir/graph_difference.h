// What a pass changed: removed and added lines of the text form, under numbers that stay the same.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/print.h"

namespace thtrain {

/// Numbers for the nodes of a graph and of what passes make of it, one after the other. Keys are addresses: the graphs
/// must be kept.
struct StableNumbers {
  NodeNumbers of;
  size_t next = 0;

  /// As graph_text() numbers the graph.
  explicit StableNumbers(const Graph& graph);
};

struct GraphDifference {
  std::vector<const Node*> removed, added;  // nodes whose line is in the one graph only, in the order of the text form
  size_t same = 0;                          // nodes whose line is in both
  /// "- %5 = neg(%4) : float64[n]  # gradient" (roles.h) and "+ ..." for each of them, bodies below, and for outputs
  /// and updates that read another node; what is new is where what it replaces was.
  std::string text;

  bool empty() const { return text.empty(); }
};

/// Compares the graph before a pass with the one after it, and numbers the nodes that came. A node of the same line
/// keeps its number; one that replaces another (the same output or update, or the same operand of such a
/// node) takes that one's number, so that a change does not run through all that reads it; others get new numbers.
/// Linear in both graphs.
GraphDifference graph_difference(const Graph& before, const Graph& after, StableNumbers& numbers);

/// An expression under these numbers, for people: nodes that have a name or a number are called by it below the second
/// level, and what is deeper than the third is cut: "mul(mul(%3, 2), hidden/W)".
std::string short_text(const Expr& value, const NodeNumbers& numbers);

}  // namespace thtrain
