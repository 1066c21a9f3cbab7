// Gradients made smaller before an optimizer takes them.
#pragma once

#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Every element moved into [-bound, bound]; NaN stays. `bound` is a scalar of the gradients' dtype, above 0. PyTorch's
/// clip_grad_value_.
std::vector<Expr> clip_by_value(const std::vector<Expr>& gradients, const Expr& bound);

/// All gradients times min(1, bound / (n + 1e-6)), n = sqrt(sum of the squares of all elements of all of them). `bound`
/// is a scalar of the gradients' dtype, above 0. Where n is not finite, the results are not.
///
/// R. Pascanu, T. Mikolov, Y. Bengio, "On the difficulty of training recurrent neural networks", ICML 2013, algorithm
/// 1, without the 1e-6; with it as PyTorch's clip_grad_norm_. TensorFlow's clip_by_global_norm has none.
std::vector<Expr> clip_by_global_norm(const std::vector<Expr>& gradients, const Expr& bound);

/// n of above: a scalar of the gradients' dtype. UserError where there are no gradients.
Expr global_norm(const std::vector<Expr>& gradients);

}  // namespace thtrain
