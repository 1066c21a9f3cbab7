// How values are computed for all iterations of a loop at once, or for all elements of vmap: an op's batching rule.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Op::iterations. Elementwise ops need no such rule: OverIterations (passes/over_iterations.h) gives their operands a
/// first axis.
struct IterationsRule {
  /// Can output 0 be computed for all iterations, where those inputs vary from iteration to iteration? Null: always
  /// where there is `all`.
  bool (*applies)(const Node& node, const std::vector<bool>& varies) = nullptr;
  /// Output 0 of all iterations, [iterations, ...]; of a node that has all outputs, where the op has several. An input
  /// that varies is [iterations, ...] too, any other is as the body sees it. Null: never.
  Expr (*all)(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
              const std::vector<bool>& varies) = nullptr;
  /// Of an op with bodies: all outputs, of inputs as `all` takes them; for vmap() alone. Null: never.
  std::vector<Expr> (*outputs)(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                               const std::vector<bool>& varies) = nullptr;
  /// May it end the call (an index outside, a maximum of nothing)? Then it stays in a loop that may have no iteration.
  bool may_fail = false;
  bool is_whole_view = false;  // the value has all elements of its input, and shares them
  /// Is it then one large computation, which is faster than many small ones? Null: never.
  bool (*pays)(const Node& node, const std::vector<bool>& varies) = nullptr;

  /// The values of the body from which the sum of output 0 over the iterations follows by one computation, which does
  /// not compute the terms; none where the node has not that form. Null: no node has.
  std::vector<Expr> (*summed)(const Node& node) = nullptr;
  /// That sum, from those values, [iterations, ...] each.
  Expr (*sum)(const Dim& iterations, std::span<const Expr> summed) = nullptr;
};

/// A value for all iterations, [iterations, ...]: itself, or what does not vary as a view of it.
Expr with_iterations(const Expr& in_body, const Expr& outside, const Dim& iterations, bool varies);
/// All inputs of a node.
std::vector<Expr> with_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                  const std::vector<bool>& varies);

/// What a rule sums, over the iterations in another order. A gradient's loop goes backwards over what the forward loop
/// left, and a product of both would copy that in reverse; the other value, which gradients of sequences want reversed
/// too, is copied instead.
std::vector<Expr> in_one_order(std::vector<Expr> summed);

/// The rules of ops that do the same whatever the first axes are; and of those whose `axis` or `axes` count from the
/// first axis, or whose `dims` are the result's, and that do the same along all others. Some of both may fail.
extern const IterationsRule kSameOpOfIterations, kSameOpThatMayFail, kLaterAxesOfIterations, kLaterAxesThatMayFail;

}  // namespace thtrain
