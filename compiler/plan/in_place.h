// Which values may lie in the buffer of what they are computed from.
#pragma once

#include <unordered_set>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// May this output of the node be written over that input, as far as the op is concerned?
bool may_overwrite(const Node& node, size_t output, size_t input);

/// May the node compute `output` in the variable's buffer? It does not read the variable, or element by element as it
/// writes, and through no view of another shape.
bool can_update_in_place(const Node& node, size_t output, const Node& variable);

/// The values that can be made one over the other in the buffer of an updated variable: the update's value, then what
/// it may overwrite and nobody else reads, and so on. Each is computed before the one in front of it.
/// `readers` are those of the whole graph, `returned` holds the nodes of its roots.
std::vector<Expr> values_in_place(const Update& update, const Readers& readers,
                                  const std::unordered_set<const Node*>& returned);

}  // namespace thtrain
