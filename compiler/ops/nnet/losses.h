// Cross-entropies, from probabilities and from logits: one loss for each example; mean() or sum() is the user's.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

// Targets are either labels, integers with the shape of the other argument but for its last axis (classes), or dense:
// a value for every class, with the same shape. The result has the shape of the labels; dtype: the other argument's.

/// The cross-entropy of probabilities p [..., classes] and targets. Labels: -log(p[..., label]); dense: -sum(t log(p))
/// over the classes. A label out of range, or below 0, is an error. A probability of 0 gives inf where its target is
/// not 0, and NaN (0 times -inf) where a dense target is 0; for p = softmax(z) or sigmoid(z), the logits' form below is
/// finite.
Expr categorical_crossentropy(const Operand& p, const Operand& targets);

/// The cross-entropy of softmax(z) and targets: -log_softmax(z)[..., label], or -sum(t log_softmax(z)). Finite for
/// every finite z. dz = softmax(z) - t, for dense targets that add up to 1.
Expr categorical_crossentropy_logits(const Operand& z, const Operand& targets);

/// The cross-entropy of probabilities p and targets t in [0, 1]: -(t log(p) + (1 - t) log1p(-p)), elementwise; p and t
/// broadcast. At p = 0 or 1: inf, or NaN where 0 meets inf.
Expr binary_crossentropy(const Operand& p, const Operand& targets);

/// The cross-entropy of sigmoid(z) and targets t in [0, 1]: softplus(z) - z t = max(z, 0) - z t + log1p(exp(-|z|)).
/// Finite for every finite z. dz = sigmoid(z) - t.
Expr binary_crossentropy_logits(const Operand& z, const Operand& targets);

/// The hinge loss of several classes, max(0, margin + the largest other score - the score of the label), one for each
/// row of the scores z [n, classes] and labels [n]. Where it is above 0, dz is 1 at the first of the largest other
/// scores and -1 at the label's; else 0. A label out of range, or below 0, is an error. K. Crammer, Y. Singer, "On the
/// algorithmic implementation of multiclass kernel-based vector machines", JMLR 2, 2001.
Expr multiclass_hinge(const Operand& z, const Operand& labels, double margin = 1);

/// What confusion_matrix gives: Theano's two values.
struct ConfusionCounts {
  Expr counts;   // int64 [k, k]: how often the actual class is classes[row] and the predicted one classes[column]
  Expr classes;  // [k]: those that are there, in ascending order
};
/// How often which class was taken for which, from integers of one length.
ConfusionCounts confusion_matrix(const Operand& actual, const Operand& predicted);

}  // namespace thtrain
