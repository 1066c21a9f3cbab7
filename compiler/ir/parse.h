// Reads back what graph_text() writes.
#pragma once

#include <functional>
#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// The graph of a text. Shared variables become leaves of their own with zeros in them. UserError, with line and
/// column, for what is no graph's text, for an op that `find_op` does not know, and for constants that the text gives
/// by a hash alone (more than 64 elements).
Graph parse_graph(std::string_view text, const std::function<const Op*(std::string_view)>& find_op);

}  // namespace thtrain
