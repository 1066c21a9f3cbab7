// Ops whose kernels can begin and end with elementwise expressions: a matrix product with its bias and activation.
#pragma once

#include <memory>
#include <span>

#include "compiler/ir/layout.h"
#include "compiler/ir/node.h"
#include "compiler/kernel/choice.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// Op::epilogue.
struct Epilogue {
  /// Can elementwise nodes be fused into this one, by the implementation that `chooser` takes for it on its target?
  /// `inputs`: the layouts that its inputs will have.
  bool (*is_possible)(const Node& node, std::span<const Layout> inputs, const kernel::Chooser& chooser,
                      const kernel::Target& target);
  /// A node of the body's outputs on `inputs`. The body has one such node and elementwise ones, all of its shape.
  std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs);
};

}  // namespace thtrain
