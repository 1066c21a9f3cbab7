// Gradients of parameters of which a minibatch reads few rows.
#pragma once

#include <vector>

#include "nn/optimizer.h"

namespace thtrain {

/// The gradient of the cost with respect to each parameter. Of one that the cost reads as take(parameter, rows) alone,
/// it is that of these rows; `rows` has each of its numbers once. The parameters are leaves that the cost reaches.
std::vector<ParamGradient> row_gradients(const Expr& cost, const std::vector<Param>& params, const Expr& rows);

}  // namespace thtrain
