// Merges equal subexpressions and drops dead code.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// Equal nodes (op, properties, inputs, bodies, recompute tag) become one; what no output or update needs is gone.
/// Exact. Runs first, and after every pass that makes new nodes it happens again by construction: a Rebuilder merges.
Graph merge(const Graph& graph, const PassContext& context);

}  // namespace thtrain
