// Activation functions by name.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// f(x), element by element:
///
///   linear    x
///   tanh      tanh(x)
///   sigmoid   1 / (1 + exp(-x))
///   relu      max(0, x), with derivative 0 at 0; NaN stays NaN
///   softplus  log(1 + exp(x))
///
/// UserError for another name.
Expr apply_activation(const std::string& name, const Expr& x);

/// The names above, in that order.
const std::vector<std::string>& activation_function_names();

}  // namespace thtrain
