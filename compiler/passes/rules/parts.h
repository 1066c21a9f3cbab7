// Rectangular parts of values (ops/index/box.h), as rules take them apart and build them.
#pragma once

#include <optional>

#include "compiler/ops/index/box.h"
#include "compiler/passes/rules.h"

namespace thtrain {

/// The box of a subtensor or inc_subtensor. Nothing for other values, and where only the data knows where it lies.
std::optional<Box> box_of(const Expr& value);
/// All of x.
Box whole_box(const Expr& x);
/// Every element of a value of these lengths, in order.
bool is_whole(const Box& box, const Dims& dims);
/// Surely without a common element?
bool are_apart(const Box& a, const Box& b);
bool are_equal(const Box& a, const Box& b);

/// That part of x; x itself where it is the whole.
Expr part_of(const Expr& x, const Box& box);
/// What an operation on `operand`, whose result has the lengths `dims`, needs of it for that part of its result.
Expr part_of_operand(const Expr& operand, const Box& box, const Dims& dims);

}  // namespace thtrain
