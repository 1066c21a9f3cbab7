// Fused elementwise regions: one loop nest that computes any number of elementwise expressions over one domain.
#pragma once

#include <span>

#include "compiler/ir/graph.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// An op made from a body graph of elementwise nodes and scalar constants; its outputs are the body's, all of the same
/// lengths. Made by the pass `fuse_elementwise`.
const Op& fused_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_fused(GraphPtr body, std::vector<Expr> inputs);

/// Writes the loop nest: `inputs` and `outputs` stand for the step's operands in order. Vectors run along the innermost
/// axis; operands that do not vary along it are loaded, and what depends on them alone is computed, once outside.
void lower_elementwise(kernel::StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs);

}  // namespace thtrain
