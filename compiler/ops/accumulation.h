// Ops whose value can be added to another one as it is computed: a matrix product into an existing matrix.
#pragma once

#include <span>

#include "compiler/ir/node.h"

namespace thtrain {

/// Op::accumulation.
struct Accumulation {
  /// Does this node have such a form?
  bool (*applies)(const Node& node);
  /// beta y + alpha x, where x, of the type of y, is what the node computes, but from `inputs`; alpha and beta are
  /// scalars of the dtype. Reassociating.
  Expr (*add)(const Node& node, std::span<const Expr> inputs, const Expr& y, const Expr& alpha, const Expr& beta);
};

}  // namespace thtrain
