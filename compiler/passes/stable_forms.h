// Values in stable forms, for differentiation.
#pragma once

#include <optional>
#include <vector>

#include "compiler/passes/pass.h"

namespace thtrain {

/// The values as canonicalize and stabilize write them, for grad: the derivative of log1p(exp(x)) is that of
/// softplus(x). Rules whose form serves values alone (Rule::values_only) do not run. Nothing where no rule that changes
/// ranges applies: then the derivatives of both are the same. Leaves stay the nodes that they are.
///
/// A value whose derivative is another form's (derivative_rules()) is marked; values_of_forms() takes the marks off.
std::optional<std::vector<Expr>> stable_forms(const std::vector<Expr>& values);

/// Derivatives of stable_forms(), as nodes that the compiler knows.
std::vector<Expr> values_of_forms(const std::vector<Expr>& derivatives);

}  // namespace thtrain
