// Forms that stay finite and exact where the plain ones overflow, cancel or divide by zero.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// log(softmax(x)) -> log_softmax(x), log(1 + exp(x)) -> softplus(x), 1 / (1 + exp(-x)) -> sigmoid(x), and the
/// gradients that grad makes of the plain forms: (a / p - b / (1 - p)) * p * (1 - p) -> a * (1 - p) - b * p. The rules
/// are the rows of stable_rules() (passes/rules.h). Runs after canonicalize, whose rules it applies too, and before
/// fuse_elementwise.
Graph stabilize(const Graph& graph, const PassContext& context);

}  // namespace thtrain
