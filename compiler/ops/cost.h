// What a node's evaluation costs, for any op.
#pragma once

#include "compiler/ir/op.h"

namespace thtrain {

/// The op's own rule; for an op without one the bytes of its operands alone.
Cost cost_of(const Node& node);

/// Of a value of known or named lengths; 0 for a token.
Dim bytes_of(const Type& type);

}  // namespace thtrain
