// Error bounds of elementwise ops, from their records.
#pragma once

#include "compiler/ops/bounded.h"
#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {

/// The errors of the outputs of an elementwise node.
std::vector<Tensor> elementwise_error(const ErrorArgs& args, Infinities infinities);

}  // namespace thtrain
