// Products on a device take in the bias and the activation that a library computes with them.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// relu(dot(x, W) + b) -> fused_product(x, W, b), where nobody else reads what lies between, and the context's chooser
/// takes cuBLASLt for all of it; dot(x, W) + b where it does for that alone. What follows is left to others. Exact, but
/// for a NaN, of which NVIDIA does not say what its activation makes.
Graph fuse_layers(const Graph& graph, const PassContext& context);

}  // namespace thtrain
