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

/// `finite_only`: nothing is said where a value on the way, or an input, is not finite. Else infinities of the inputs
/// are exact, and a quotient by an overflowed number is small.
/// InternalError for an op that it does not know.
Bounded evaluate_bounded(const Expr& output, std::span<const std::pair<Expr, Tensor>> inputs, bool finite_only);

/// A first element of `a` and `b` (the same type) whose distance is more than both errors allow, in words; empty where
/// there is none. Elements with an infinite error of `a` are not looked at.
std::string first_beyond_bounds(const Bounded& a, const Bounded& b);

}  // namespace thtrain
