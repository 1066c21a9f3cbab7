// All ops by name: for texts of graphs, tests of every op, and `thtrain info --ops`.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// In the order of op_list.inc.
const std::vector<const Op*>& all_ops();

/// The op of that name; null if there is none.
const Op* find_op(std::string_view name);

/// The folder of compiler/ops/ that defines an op: "shape", "linalg", "elemwise"; "leaf" for inputs, shared variables
/// and constants, "" for an op that is in no list.
std::string_view family_of(const Op& op);

/// The ops of a graph and of its bodies that are in no list: those of users. Each once, in the order of the text.
struct UserOps {
  std::vector<const Op*> ops;
  /// Has each of their nodes a property "version", which changes with what the op does? Programs are kept on disk by
  /// the text of their graph, which says nothing else of the code of such an op.
  bool have_versions = true;
};
UserOps user_ops_of(const Graph& graph);

}  // namespace thtrain
