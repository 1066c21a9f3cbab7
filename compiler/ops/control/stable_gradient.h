// A gradient in two forms: as the ops' rules give it, and that of the cost's stable forms.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

/// `plain`, of which `stable` is another form: equal within rounding errors where everything on the way to `plain` is
/// finite, and finite in more cases. Both have one type. The reference, the level strict and a further derivative take
/// `plain`; the pass choose_gradients takes `stable` at the other levels. grad makes these; a user has no need to.
Expr stable_gradient(const Expr& plain, const Expr& stable);

const Op& stable_gradient_op();

}  // namespace thtrain
