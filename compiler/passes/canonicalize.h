// One form for what can be spelled in many ways: signs, sums, products, powers, casts, chains of views.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// -(-x) + 0 + x -> 2 * x; the rules are the rows of canonical_rules() (passes/rules.h), each with its class of safety.
/// Terms that a gradient multiplies by a literal zero vanish. Sums and products keep the order in which they were
/// written, unless something is gained. Runs after merge and constant_fold; and before every pass that looks for forms:
/// stabilize, find_gemm.
Graph canonicalize(const Graph& graph, const PassContext& context);

}  // namespace thtrain
