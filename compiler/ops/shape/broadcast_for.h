// broadcast_to for other builders.
#pragma once

#include <string>

#include "compiler/ir/node.h"
#include "compiler/ops/operand.h"

namespace thtrain {

/// broadcast_to(x, dims) for the builder `called`, which errors name.
Expr broadcast_for(const Operand& x, const Dims& dims, const std::string& called);

}  // namespace thtrain
