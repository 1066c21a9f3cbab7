// Ops whose kernels can begin and end with elementwise expressions: a matrix product with its bias and activation.
#pragma once

#include <memory>
#include <span>

#include "compiler/ir/layout.h"
#include "compiler/ir/node.h"
#include "compiler/kernel/choice.h"

namespace thtrain {

/// Op::epilogue.
struct Epilogue {
  /// Can elementwise nodes be fused into this one, by the implementation that `chooser` takes for it? `inputs`: the
  /// layouts that its inputs will have.
  bool (*is_possible)(const Node& node, std::span<const Layout> inputs, const kernel::Chooser& chooser);
  /// A node of the body's outputs on `inputs`. The body has one such node and elementwise ones, all of its shape.
  std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs);
};

}  // namespace thtrain
