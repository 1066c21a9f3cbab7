// Expressions as trees of lines, and as pictures by Graphviz.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

// ---- print graphs --------------------------------------------------------------------------------------------------

/// How much tree_text() prints.
struct TreeOptions {
  int64_t depth = -1;         // of the lines below a value: 0 prints the value alone; -1: all
  bool stop_on_name = false;  // nothing below a value that has a name (named())
};

/// A value and what it is computed from, as a tree: a line for each operand, below and to the right of what reads it.
/// A value that was printed before is "see above", and what is left out by the options is "...":
///
///   tanh : float64[3]
///   |-add : float64[3]
///   | |-x : float64[3]
///   | |-constant 1 : float64[]
///
/// Bodies of loops and calls are not printed: graph_text() has them.
std::string tree_text(const Expr& value, const TreeOptions& options = {});

/// The graph of the values for Graphviz (`dot -Tsvg graph.dot`): a box for each node, a round one for each input,
/// shared variable and constant, an arrow from each operand with its type.
std::string dot_text(const std::vector<Expr>& values);

}  // namespace thtrain
