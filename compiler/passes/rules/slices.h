// Rectangular parts of values (ops/index/strided_slice.h), as rules take them apart and build them.
#pragma once

#include <optional>

#include "compiler/ops/index/strided_slice.h"
#include "compiler/passes/rules.h"

namespace thtrain {

/// The slice of a subtensor or inc_subtensor. Nothing for other values, and where only the data knows where it lies.
std::optional<StridedSlice> strided_slice_of(const Expr& value);
/// All of x.
StridedSlice full_slice(const Expr& x);
/// Every element of a value of these lengths, in order.
bool is_whole(const StridedSlice& slice, const Dims& dims);
/// Surely without a common element?
bool are_disjoint(const StridedSlice& a, const StridedSlice& b);
bool are_equal(const StridedSlice& a, const StridedSlice& b);

/// That part of x; x itself where it is the whole.
Expr slice_of(const Expr& x, const StridedSlice& slice);
/// What an operation on `operand`, whose result has the lengths `dims`, needs of it for that part of its result.
Expr slice_of_operand(const Expr& operand, const StridedSlice& slice, const Dims& dims);

}  // namespace thtrain
