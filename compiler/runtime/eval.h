// The value of an expression at once.
#pragma once

#include <source_location>
#include <utility>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// The value of an expression for these values of the inputs that it reads: eval(x + y, {{x, a}, {y, b}}). It compiles
/// a function for this one call, which is slow unless the cache has its program: for looking at values, not for loops.
/// UserError as function() and its call.
Tensor eval(const Expr& value, const std::vector<std::pair<Expr, Tensor>>& inputs = {},
            std::source_location where = std::source_location::current());

}  // namespace thtrain
