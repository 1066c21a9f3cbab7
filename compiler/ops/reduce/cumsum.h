// Running sums along an axis.
#pragma once

#include <optional>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- reduce --------------------------------------------------------------------------------------------------------

/// The running sums along an axis, of the shape of x; without an axis those of flatten(x), a vector. Integers and bool
/// give int64 or uint64, floats and complex keep their dtype. Added one after the other in the dtype of the result, as
/// NumPy's cumsum.
Expr cumsum(const Operand& x, std::optional<int64_t> axis = {});

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& cumsum_op();

}  // namespace thtrain
