// The largest absolute value: the norm of a vector for the order infinity.
#pragma once

#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

// ---- reduce --------------------------------------------------------------------------------------------------------

/// The largest absolute value, of floats: NumPy's linalg.norm(x, inf) of vectors. NaN where any element is NaN. Without
/// elements: 0. Every element that has that absolute value gets the whole derivative.
Expr max_abs(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& max_abs_op();

}  // namespace thtrain
