// A graph as a picture: SVG with the nodes in layers, inputs above, outputs and updates below.
#pragma once

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

/// One <svg> element. A node is a <g class="node KIND"> with its text line, layer and place in the source as <title>;
/// the class of `marked` ones has `mark` besides. Nodes of the gradient and of updates say so in words, and have the
/// class of-gradient or of-update and a bar (class role). Edges carry the type of the value. Colours are the page's:
/// classes node, op, about, edge, tip, type. `label` says what the picture shows, for those who cannot see it.
std::string graph_drawing(const Graph& graph, const NodeNumbers& numbers, std::span<const Node* const> marked,
                          std::string_view mark, std::string_view label);

}  // namespace thtrain
