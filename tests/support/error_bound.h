// How far a computed value may be from the exact one: rounding errors followed through an expression.
#pragma once

#include <span>
#include <utility>

#include "compiler/ir/graph.h"

namespace thtrain {

/// A value by the references, and for each element a bound on its distance from exact arithmetic on the same inputs
/// (float64, an infinity where nothing can be said).
struct Bounded {
  Tensor value, error;
};

/// What an infinity says of the elements that are computed from it.
enum class Infinities {
  kUnknown,  // nothing: only where every value on the way is finite, something is said
  kKnown,    // an infinite input is what it is; a number that became too large leaves what is divided by it small
};

/// InternalError for an op that it does not know.
Bounded evaluate_bounded(const Expr& output, std::span<const std::pair<Expr, Tensor>> inputs, Infinities infinities);

/// A first element whose distance in `a` and `b` (the same type) is more than both errors allow, in words; empty where
/// there is none. Elements of which nothing is known are not looked at: those of `a`, or with `both` of `b` too.
std::string first_beyond_bounds(const Bounded& a, const Bounded& b, bool both);

}  // namespace thtrain
