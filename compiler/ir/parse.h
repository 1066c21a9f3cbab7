// Reads back what graph_text() writes.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// What the text of a graph leaves out, in the order of the text: of the lines of its leaves and nodes, those of bodies
/// among them.
struct GraphDetails {
  struct Line {
    Origin origin;
    uint64_t serial = 0;   // of a leaf: its value's name as a length has it
    bool in_body = false;  // of a leaf: make_body_input() made it
  };
  std::vector<Line> lines;
  std::vector<std::shared_ptr<SharedStorage>> variables;
  std::vector<Tensor> long_constants;  // of more than 64 elements
};
GraphDetails details_of(const Graph& graph);

/// The graph of a text, and of its details where these are known. Without them shared variables become leaves of their
/// own with zeros in them, and leaves get new serial numbers. UserError, with line and column, for what is no graph's
/// text, for an op that `find_op` does not know, for details of another graph, and without details for constants that
/// the text gives by a hash alone (more than 64 elements).
Graph parse_graph(std::string_view text, const std::function<const Op*(std::string_view)>& find_op,
                  const GraphDetails* details = nullptr);

}  // namespace thtrain
