// Builders of expressions that do something beside giving a value: showing it, checking a condition.
#pragma once

#include <string>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- print and check -----------------------------------------------------------------------------------------------

/// x; computing it writes a line to standard error: the label, the type and the first values. Lines come in the order
/// in which the expressions were built. Stays in a function although nobody reads the result.
Expr print(const Operand& x, const std::string& label);

/// x; computing it fails with the message unless the condition (all of its elements) holds. Is there as long as its
/// result is used: y = check(x, condition, ...), and then y instead of x.
Expr check(const Operand& x, const Operand& condition, const std::string& message);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& print_op();
const Op& check_op();

}  // namespace thtrain
