// The derivative of broadcasting, which ops of several families need.
#pragma once

#include "compiler/ir/node.h"

namespace thtrain {

/// The sum of `cotangent` over the axes along which `like` was broadcast: of `like`'s type exactly. The real part of a
/// complex one where `like` is real.
Expr unbroadcast(const Expr& cotangent, const Expr& like);

}  // namespace thtrain
