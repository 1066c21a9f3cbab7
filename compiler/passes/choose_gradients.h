// Takes one of the two forms of each gradient.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// stable_gradient(plain, stable) -> stable; at the level strict -> plain. Runs before all others, which so see one
/// form only.
Graph choose_gradients(const Graph& graph, const PassContext& context);

}  // namespace thtrain
