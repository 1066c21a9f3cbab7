// A value whose lengths are stated: proved where they can be, else checked when a call begins.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

/// x itself, under the lengths `lengths` (as many as x has axes). Derivatives pass.
Expr specify_lengths(const Operand& x, const Dims& lengths);

const Op& specify_lengths_op();

}  // namespace thtrain
