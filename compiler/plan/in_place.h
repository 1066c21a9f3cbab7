// Which outputs may be written over inputs of their node, and which values in the buffer of a shared variable.
#pragma once

#include <unordered_set>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// Does the op allow that this output of the node is written over that input?
bool may_overwrite(const Node& node, size_t output, size_t input);

/// May the node compute `output` in the variable's buffer? It may where it does not read the variable, or where it
/// reads the variable itself (no view of it) as an input that the output may be written over.
bool can_update_in_place(const Node& node, size_t output, const Node& variable);

/// The chain of values that can be computed one after the other in the buffer of an updated variable, the last one
/// first: the update's value, then an input of its node that it may be written over and that has no other reader, and
/// so on. `readers` are those of the whole graph, `returned` holds the nodes of its roots.
std::vector<Expr> values_in_place(const Update& update, const Readers& readers,
                                  const std::unordered_set<const Node*>& returned);

}  // namespace thtrain
