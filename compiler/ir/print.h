// The text form of a graph: what errors, `explain` and golden tests show, and what keys of the cache are made from.
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace thtrain {

/// One line for each node, inputs first, numbered in that order; bodies are indented under their node:
///
///   input  %0 x : float64[n, 3]
///   shared %1 W : float64[3, 2]
///   %2 = dot(%0, %1) : float64[n, 2]
///   output  %2
///   update  %1 <- %2
///
/// Canonical names of lengths are printed as they are, so parse_graph() reads the text back to an equal graph.
std::string graph_text(const Graph& graph);

/// Expressions as nested text, "tanh(dot(x, W) + b)", cut at `limit` characters: for messages.
std::string expr_text(const Expr& value, size_t limit = 120);

}  // namespace thtrain
