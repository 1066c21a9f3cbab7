// States of loops that only collect: sums, products and extrema of what the iterations give.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// next = op(state, terms...), and no term needs the state.
struct LoopAccumulation {
  const Op* op = nullptr;  // add, mul, maximum, minimum
  std::vector<Expr> terms = {};

  /// Can its values of all iterations be computed at once, and not the last one alone? Of sums.
  bool has_running_values() const;
};

/// That of the next value of a state; nothing where it has another form, or where a term has not the state's type.
std::optional<LoopAccumulation> accumulation_of(const Expr& state, const Expr& next);

/// The state after all iterations; `terms` are [iterations, ...]. Of extrema there is at least one iteration.
Expr total(const LoopAccumulation& accumulation, const Expr& first, const std::vector<Expr>& terms);
/// The state before the first iteration and after each, [1 + iterations, ...]. has_running_values().
Expr running_values(const LoopAccumulation& accumulation, const Expr& first, const std::vector<Expr>& terms);

}  // namespace thtrain
