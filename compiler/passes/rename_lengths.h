// Lengths of a graph under other names, or replaced by what is known of them.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

using LengthMap = std::unordered_map<std::string, Dim>;

/// The graph with every name in `map` replaced, in types and properties. Inputs whose type changes, or whose location
/// in `inputs` gives another serial number, become new leaves; the others stay. Updates keep their variables. Values of
/// `replacements` are replaced at the same time, by values that have the new lengths already.
Graph rename_lengths(const Graph& graph, const LengthMap& map,
                     std::span<const std::pair<Expr, Expr>> replacements = {});

/// The same program under names that depend on the graph alone: input number i becomes "x~i", so that two processes
/// give the same text. Equalities that the ops need between a name and another length are used: the length stands for
/// the name from then on, so that known lengths are specialized.
struct CanonicalGraph {
  Graph graph;
  std::vector<LengthCheck> shape_checks;  // in the names of the graph given: told by the shapes of a call
  std::vector<LengthCheck> value_checks;  // in canonical names: they involve values of integer scalars
};
CanonicalGraph canonical_lengths(const Graph& graph);

/// What the type rules of all nodes cannot prove, each once, in order.
std::vector<LengthCheck> collect_checks(const Graph& graph);

}  // namespace thtrain
