// softmax and log-softmax along any axis, each one kernel.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// x: [..., n, ...] with n along `axis`; a row is the n elements along it. Integers and bool are cast to floatX.
// Special values follow from exp(x - max(x)) / sum(exp(x - max(x))): an element of -inf beside finite ones gives 0 (the
// logarithm: -inf); a row that has NaN or +inf, or nothing but -inf, gives NaN in every element.

/// exp(x) / sum(exp(x)) for each row; no overflow for finite x. dx = y (dy - sum(dy y)).
Expr softmax(const Operand& x, int64_t axis = -1);

/// x - log(sum(exp(x))) for each row; finite for every finite x. dx = dy - exp(y) sum(dy).
Expr log_softmax(const Operand& x, int64_t axis = -1);

const Op& softmax_op();
const Op& log_softmax_op();

}  // namespace thtrain
