// How values of a loop's body are computed for all iterations at once, outside the loop.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Op::iterations. Elementwise ops need no such rule: OverIterations (passes/over_iterations.h) gives their operands a
/// first axis.
struct IterationsRule {
  /// Can output 0 be computed for all iterations, where those inputs vary from iteration to iteration? Null: never.
  bool (*applies)(const Node& node, const std::vector<bool>& varies) = nullptr;
  /// Output 0 of all iterations, [iterations, ...]. An input that varies is [iterations, ...] too, any other is as the
  /// body sees it.
  Expr (*all)(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
              const std::vector<bool>& varies) = nullptr;
  /// Is one large computation faster than many small ones?
  bool pays = false;

  /// The values of the body from which the sum of output 0 over the iterations follows by one computation, which does
  /// not compute the terms; none where the node has not that form. Null: no node has.
  std::vector<Expr> (*summed)(const Node& node) = nullptr;
  /// That sum, from those values, [iterations, ...] each.
  Expr (*sum)(const Dim& iterations, std::span<const Expr> summed) = nullptr;
};

}  // namespace thtrain
