// A branch: one of two bodies runs, by a condition that only a call knows.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/operand.h"

namespace thtrain {

// ---- control --------------------------------------------------------------------------------------------------------

/// The values of `then()` where the condition (a bool scalar) holds, else those of `otherwise()`. Only what the side
/// that is taken built is computed, and all that was built before; but lengths, and x[i] of an i that is known before
/// the call, are checked whichever side is taken (take(x, i) is not). In reverse mode the side taken runs once more;
/// values that the other would read get zeros. It prints once.
///
/// Both sides give equally many values, of equal ranks (UserError). Of two dtypes the result has the one that both
/// promote to. Where two lengths are known to differ, or the data decides one of them, that of the result is one that
/// the data decides; the shorter value is filled up to the longer one on the way. Other
/// lengths that only a call knows, such as those of two inputs of lengths "n" and "m", must be equal, which it checks
/// whichever side is taken.
std::vector<Expr> if_else(const Operand& condition, const std::function<std::vector<Expr>()>& then,
                          const std::function<std::vector<Expr>()>& otherwise,
                          std::source_location where = std::source_location::current());
/// The same for one value.
Expr if_else(const Operand& condition, const std::function<Expr()>& then, const std::function<Expr()>& otherwise,
             std::source_location where = std::source_location::current());

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// The node's outputs: both bodies take the captures.
std::vector<Expr> make_if_else(const Expr& condition, GraphPtr then, GraphPtr otherwise, std::vector<Expr> captures,
                               const std::source_location& where = std::source_location::current());

const Op& if_else_op();

}  // namespace thtrain
