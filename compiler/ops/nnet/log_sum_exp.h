// The stable form of log(sum(exp(x))): what logsumexp builds, and what the optimizer makes of the plain form.
#pragma once

#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// m + log(sum(exp(x - m))) over `axes` (sorted, from 0, not none) with m = max(x), or 0 where that is infinite. Over
/// no elements it is -inf, as the logarithm of 0. x is floating. The value does not depend on m, whose derivatives
/// cancel: `for_gradients` stops them, as an expression that is still to be differentiated wants it.
Expr stable_log_sum_exp(const Expr& x, const std::vector<int64_t>& axes, bool keepdims, bool for_gradients = false);

}  // namespace thtrain
