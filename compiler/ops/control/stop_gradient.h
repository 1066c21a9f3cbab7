// Values whose derivatives are not those of what computes them.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- gradients -----------------------------------------------------------------------------------------------------

/// x, on which nothing depends as far as derivatives go: a cost that reads x by this alone is disconnected from it.
Expr stop_gradient(const Operand& x);
/// x, whose derivative is 0: as stop_gradient, but x counts as connected.
Expr zero_grad(const Operand& x);
/// x, whose derivative is moved into [low, high] where it passes, element by element: the cotangent in reverse mode,
/// the tangent in forward mode. x is a real floating value (UserError otherwise), and low is at most high.
Expr grad_clip(const Operand& x, double low, double high);
/// x, whose derivative is multiplied by `factor` where it passes. -1 turns a gradient around.
Expr grad_scale(const Operand& x, double factor);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& stop_gradient_op();
const Op& zero_grad_op();
const Op& grad_clip_op();
const Op& grad_scale_op();

}  // namespace thtrain
