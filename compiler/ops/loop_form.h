// Ops that a loop over one of their inputs computes as well as a kernel of their own: a product of a matrix with a
// vector, where the matrix is updated with it.
#pragma once

#include <optional>
#include <span>

#include "compiler/ir/node.h"

namespace thtrain {

/// Op::loop_form: a node that reads each element of one large array once.
struct LoopForm {
  const char* name;  // of the rewrite, in logs
  /// The array, row-major in the order of the loop; nullopt: this node has no such form. Asked for every node of the
  /// op, so it builds nothing.
  std::optional<Expr> (*array)(const Node& node);
  /// The node by elementwise ops on the array, and reductions of these. Reassociating.
  Expr (*expand)(std::span<const Expr> inputs);
};

}  // namespace thtrain
