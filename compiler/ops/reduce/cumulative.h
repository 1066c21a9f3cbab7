// Running sums, products and extrema along an axis.
#pragma once

#include <optional>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- reduce --------------------------------------------------------------------------------------------------------

/// The running sums along an axis, of the shape of x; without an axis those of flatten(x), a vector. Integers and bool
/// give int64 or uint64, floats and complex keep their dtype. Added one after the other in the dtype of the result, as
/// NumPy's cumsum.
Expr cumsum(const Operand& x, std::optional<int64_t> axis = {});
/// The running products, likewise. Derivatives are right where elements are 0 too.
Expr cumprod(const Operand& x, std::optional<int64_t> axis = {});
/// The largest element so far, of the dtype of x; NaN from the first NaN on. Its derivative goes to the first of equal
/// elements.
Expr cummax(const Operand& x, std::optional<int64_t> axis = {});
/// The smallest element so far, likewise.
Expr cummin(const Operand& x, std::optional<int64_t> axis = {});

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& cumsum_op();
const Op& cumprod_op();
const Op& cummax_op();
const Op& cummin_op();

}  // namespace thtrain
