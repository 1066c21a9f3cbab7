// Products with inverses become solutions of linear equations, which share factors.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// dot(inverse(a), b) -> solve(a, b), of batches, transposes, vectors and with the inverse on the right too: a third of
/// the work, and more digits. Where nobody else reads the inverse. solve(transpose(a), b), inverse(transpose(a)) -> by
/// the factors of a, where others need these. Reassociating. Runs before drop_gradient_ops, while
/// the graph still says what is an inverse; the derivatives are there already.
Graph solve_for_inverses(const Graph& graph, const PassContext& context);

}  // namespace thtrain
