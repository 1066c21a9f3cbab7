// Gauss's rule: integrals of smooth functions as sums.
#pragma once

#include <functional>

#include "compiler/ops/operand.h"

namespace thtrain {

/// The integral of f from 0 to `length`, for each of its elements, by Gauss's and Legendre's rule of `points` points:
/// f gets them along a new last axis.
Expr integral_from_0(const Expr& length, int points, const std::function<Expr(const Expr&)>& f);

}  // namespace thtrain
