// softmax and log-softmax along any axis, each one kernel; log-sum-exp.
#pragma once

#include "compiler/ops/operand.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

// x: [..., n, ...] with n along `axis`; a row is the n elements along it. Integers and bool are cast to floatX.
// Special values follow from exp(x - max(x)) / sum(exp(x - max(x))): an element of -inf among finite ones gives 0 (the
// logarithm: -inf); a row that has NaN or +inf, or nothing but -inf, gives NaN in every element.

/// exp(x) / sum(exp(x)) for each row; no overflow for finite x. dx = y (dy - sum(dy y)).
Expr softmax(const Operand& x, int64_t axis = -1);

/// x - log(sum(exp(x))) for each row; finite for every finite x. dx = dy - exp(y) sum(dy).
Expr log_softmax(const Operand& x, int64_t axis = -1);

/// The two levels of h_softmax: of the groups, w [inputs, groups] and b [groups]; of the classes in each group,
/// [groups, inputs, size] and [groups, size].
struct HSoftmaxWeights {
  Operand groups_w, groups_b, classes_w, classes_b;
};
/// A softmax of many classes in two levels: class k is number k % size of group k / size, with the probability
/// softmax(x groups_w + groups_b)[group] softmax(x classes_w[group] + classes_b[group])[number]. x: [n, inputs]. With
/// labels [n] the probability of each one's own class, [n], for which one group is computed, not all; without them
/// those of the first `classes` ones, [n, classes]. A label that is no class is an error. J. Goodman, "Classes for fast
/// maximum entropy training", ICASSP 2001; Theano's h_softmax.
Expr h_softmax(const Operand& x, const HSoftmaxWeights& weights, const Operand& labels);
Expr h_softmax(const Operand& x, const HSoftmaxWeights& weights, int64_t classes);

// ---- reduce --------------------------------------------------------------------------------------------------------

/// log(sum(exp(x))) over any axes, without overflow: m + log(sum(exp(x - m))) with m = max(x), or 0 where that is
/// infinite. This is what the optimizer makes of log(sum(exp(x))), and it is built so: the reference and the level
/// strict do not overflow either. Axes and keepdims as sum's; integers and bool are cast to floatX; not for complex.
/// Without elements: -inf. dx = dy exp(x - y).
Expr logsumexp(const Operand& x, const Axes& axes = {}, KeepDims keepdims = false);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& softmax_op();
const Op& log_softmax_op();

}  // namespace thtrain
