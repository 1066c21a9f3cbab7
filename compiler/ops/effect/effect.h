// Builders of expressions that do something besides giving a value: showing it, checking a condition.
#pragma once

#include <string>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- print and check -----------------------------------------------------------------------------------------------

/// x; computing it writes a line to standard error: the label, the type and the first values.
///
/// A print belongs to a function if the outputs, the updates or FunctionOptions::effects need it as they were written,
/// before anything is rewritten; and to the body of a loop or a branch if it was built while the body's lambda ran,
/// also where nobody reads its result. Outside of every body, a print that is neither needed nor listed is no part of
/// a function. What belongs to a program is printed once in each call (in each iteration of a loop), in the order in
/// which the expressions were built: it is not dropped where rewriting makes its value superfluous (0 * print(x)), and
/// equal prints are not merged. With givens, what a print itself needs comes before it. What is computed a second time,
/// in the derivative of a loop or by the debug mode, prints nothing.
Expr print(const Operand& x, const std::string& label);

/// x; computing it fails with the message unless the condition (all of its elements) holds. Is there as long as its
/// result is used: y = check(x, condition, ...), and then y instead of x.
Expr check(const Operand& x, const Operand& condition, const std::string& message);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& print_op();
const Op& check_op();

}  // namespace thtrain
