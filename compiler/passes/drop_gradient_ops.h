// Values that are there for their derivatives become the values that they are.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// stop_gradient(x) -> x, and the like of every op that says so (Op::only_derivatives). Exact. A graph that is compiled
/// has its derivatives already.
Graph drop_gradient_ops(const Graph& graph, const PassContext& context);

}  // namespace thtrain
