// A graph as a picture: SVG with the nodes in layers, inputs above, outputs and updates below.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/print.h"

namespace thtrain {

/// The kind of a node, which decides its colour: "input", "shared", "constant", "fused", else the op's family
/// (compiler/ops/registry.h), "other" where it has none.
std::string_view kind_of_node(const Node& node);

/// Boxes of a drawing: nodes but for constants of one element, which are written into the nodes that read them, and a
/// box for each output and update.
size_t drawn_count(const Graph& graph);

/// A graph that is drawn together with others, under numbers that say which nodes are the same box.
struct DrawnState {
  const Graph* graph;
  const NodeNumbers* boxes;
};

/// One <svg> element of several states of a graph (at least one), in which every box has one position. A node is a
/// <g class="node KIND"> with its text line, layer and position in the source as <title>. Nodes of the gradient and of
/// updates say so in their title, begin with a sign, and have the class of-gradient or of-update and a bar (class
/// role). Edges carry the type of the value. Of several states, what not all of them have says from which to which it
/// is there (data-from, data-to, counted from 0), and has the class `past` where the last one has it not; an element is
/// written for each such time, and data-i is the number of its box. `labels` are the numbers that texts show. `value`
/// gives what data-v says of a node, "" for nothing. Colours are the page's: classes node, op, about, edge, tip, type.
/// `label` says what the picture shows, for those who cannot see it.
std::string graph_drawing(std::span<const DrawnState> states, const NodeNumbers& labels, std::string_view label,
                          const std::function<std::string(const Node&)>& value = {});

/// Boxes of all states together.
size_t drawn_count(std::span<const DrawnState> states);

}  // namespace thtrain
