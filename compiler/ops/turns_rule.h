// How values of a loop's body are computed for all turns at once, outside the loop.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Op::turns. Elementwise ops need no such rule: OverTurns (passes/over_turns.h) gives their operands a first axis.
struct TurnsRule {
  /// Can output 0 be computed for all turns, where those inputs vary from turn to turn? Null: never.
  bool (*applies)(const Node& node, const std::vector<bool>& varies) = nullptr;
  /// Output 0 of all turns, [turns, ...]. An input that varies is [turns, ...] too, any other is as the body sees it.
  Expr (*all)(const Node& node, const Dim& turns, std::span<const Expr> inputs,
              const std::vector<bool>& varies) = nullptr;
  /// Is one large computation faster than many small ones?
  bool pays = false;

  /// The values of the body from which the sum of output 0 over the turns follows by one computation, which does not
  /// compute the terms; none where the node has not that form. Null: no node has.
  std::vector<Expr> (*summed)(const Node& node) = nullptr;
  /// That sum, from those values, [turns, ...] each.
  Expr (*sum)(const Dim& turns, std::span<const Expr> summed) = nullptr;
};

}  // namespace thtrain
