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

}  // namespace thtrain
