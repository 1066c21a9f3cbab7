// Loops over the same steps that compute the same become one.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// scan(s -> f(s), x), scan(s -> f(s), g(s), x) -> one loop with the outputs of both. Loops are joined where they have
/// the same number of iterations, neither needs the other, and they share a state or something that their bodies
/// compute. States are equal where they begin with the same values and, supposing that they are equal, go on with the
/// same; equal states, sequences, captures and elements of one loop become one too. Exact. Loops with effects, and
/// loops that a condition ends, stay as they are.
Graph merge_loops(const Graph& graph, const PassContext& context);

}  // namespace thtrain
