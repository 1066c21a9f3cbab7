// One graph in native, reference and debug mode, and its gradient compared with finite differences.
#pragma once

#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

/// The outputs in native mode. Those of the debug mode have the same bits, those of the reference are within `bound`
/// (relative above 1); tests fail where not.
std::vector<Tensor> in_all_modes(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                                 const std::vector<Tensor>& values, double bound = 1e-12);

/// The gradient of `cost` (float64) with respect to the inputs, in all modes, compared with central differences.
void expect_gradient(const Expr& cost, const std::vector<Expr>& inputs, const std::vector<Tensor>& values,
                     double bound = 1e-6);

}  // namespace thtrain
