// The text form of a graph: what errors, `explain` and golden tests show, and what keys of the cache are made from.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/node_map.h"

namespace thtrain {

// ---- print graphs --------------------------------------------------------------------------------------------------

/// A graph as text: one line for each node, inputs first, numbered in that order; bodies are indented under their node:
///
///   input  %0 x : float64[n, 3]
///   shared %1 W : float64[3, 2]
///   %2 = dot(%0, %1) : float64[n, 2]
///   output  %2
///   update  %1 <- %2
///
/// "effect  %5.1" is what belongs to the graph for its effect (Graph::effects).
/// Canonical names of lengths are printed as they are, so parse_graph() reads the text back to an equal graph.
std::string graph_text(const Graph& graph);

/// Words behind the lines of some nodes: "gradient" is printed as "  # gradient", after the node's name "  # z,
/// gradient".
using NodeNotes = NodeMap<std::string>;
/// The same with notes, for people: what parse_graph() reads from it has them as names.
std::string graph_text(const Graph& graph, const NodeNotes& notes);

/// Expressions as nested text, "tanh(dot(x, W) + b)", cut at `limit` characters: for messages.
std::string expr_text(const Expr& value, size_t limit = 120);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// What texts call nodes: 3 is "%3".
using NodeNumbers = NodeMap<size_t>;

/// The nodes of a graph (not of its bodies) in the order of the text form, which numbers them from 0.
std::vector<const Node*> text_order(const Graph& graph);

/// The line of one node as graph_text() has it, its bodies below it, under its own number and those of what it reads.
/// The bodies' nodes are numbered from the one after the node.
std::string node_text(const Node& node, size_t number, const NodeNumbers& numbers, const NodeNotes& notes = {});

}  // namespace thtrain
