// The nodes that define lengths, and who names those.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// The defined lengths ("#mask~14") that types and properties of the node hold, and those of nodes in its bodies.
void collect_defined_names(const Node& node, std::set<std::string>& names);

/// The outputs whose values are the defined lengths that anything above the roots names, each name once: of the nodes
/// above the roots, and where none of these defines a name (zeros of the lengths of x[mask] do not read x[mask]), of
/// the node that the length itself knows. An output comes after those whose lengths it needs.
std::vector<Expr> definitions_of(const std::vector<Expr>& roots);

}  // namespace thtrain
