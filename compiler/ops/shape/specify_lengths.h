// A value whose lengths are stated: proved where they can be, else checked when a call begins.
#pragma once

#include <string>

#include "compiler/ops/operand.h"

namespace thtrain {

/// x itself, under the lengths `lengths` (as many as x has axes). Derivatives pass. Errors begin with `whose`, which is
/// the op's name where it is empty.
Expr specify_lengths(const Operand& x, const Dims& lengths, const std::string& whose = {});

/// x itself; that it has at least `least` rows is proved or checked when a call begins. The error says `what`.
Expr require_rows(const Operand& x, const Dim& least, const std::string& what);

const Op& specify_lengths_op();

}  // namespace thtrain
