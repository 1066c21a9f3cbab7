// The penalty of contractive autoencoders.
#pragma once

#include "nn/predictions.h"

namespace thtrain {

/// The mean over the examples of the squared Frobenius norm of d h / d x, for a dense or rbm layer h = s(x W + b) that
/// takes x [n, in] and gives h [n, units], a scalar:
///
///   mean over i of sum over j of s'_ij^2 sum over k of W_kj^2
///
/// where s' is h (1 - h) for a sigmoid, 1 - h^2 for tanh, and 1 for a linear layer. S. Rifai, P. Vincent, X. Muller, X.
/// Glorot, Y. Bengio, "Contractive auto-encoders: explicit invariance during feature extraction", ICML 2011, eq. 4 and
/// 7. UserError at `where` for another layer, or another activation.
Expr contraction_penalty(const ModelOutput& hidden, const ConfigPosition& where = {});

}  // namespace thtrain
