// What a node's evaluation costs, for any op.
#pragma once

#include "compiler/ir/op.h"

namespace thtrain {

/// The op's own rule; for a fused node the operations of its body, and each operand once; for an op without a rule the
/// bytes of its operands alone.
Cost cost_of(const Node& node);

}  // namespace thtrain
