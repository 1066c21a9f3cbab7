// The nodes that define lengths, and who names those. What a body defines is its own, another length in each iteration,
// and belongs to the effects of its graph (Graph::effects).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// The defined lengths ("#mask~14") that types and properties of the node hold, and those of nodes in its bodies, but
/// for lengths that a body defines itself.
void collect_defined_names(const Node& node, std::set<std::string>& names);

/// The outputs whose values are the defined lengths that anything above the roots names, each name once: of the nodes
/// above the roots, and where none of these defines a name (zeros of the lengths of x[mask] do not read x[mask]), of
/// the node that the length itself knows. An output comes after those whose lengths it needs.
std::vector<Expr> definitions_of(const std::vector<Expr>& roots);

/// The name of the length that an output of a node defines; empty: it defines none.
std::string defined_name(const Expr& value);

/// 0 of "#mask~0": the number of a length among those that a canonical graph defines (canonical_lengths()).
size_t number_of_length(const std::string& name);

/// Those of `definitions`, which are in the order of definitions_of(), whose lengths anything above the roots names, or
/// one of the definitions that are given: what a body made of values of another one defines.
std::vector<Expr> needed_definitions(const std::vector<Expr>& roots, const std::vector<Expr>& definitions);

}  // namespace thtrain
