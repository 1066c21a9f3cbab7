// Computes what depends on constants alone.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// exp(0.0) * x -> 1.0 * x. By the reference of the op, so exact by definition. Results of more than 4096 elements are
/// left to the program, as are ops that say that they must not be folded and ops with effects.
Graph constant_fold(const Graph& graph, const PassContext& context);

}  // namespace thtrain
