// Fused elementwise regions: one loop nest that computes any number of elementwise expressions over one domain.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// An op that is its body: types, values and derivatives are those of the body's outputs on the op's inputs.
Op op_of_body(std::string name, std::string doc, std::function<void(kernel::StepBuilder&)> lower,
              std::function<std::vector<OpCase>()> cases,
              std::source_location defined_at = std::source_location::current());

/// All outputs of the node that `make` (make_fused and the like) makes of a body: what `expressions` gives for inputs
/// of the types of `values`. For cases.
std::vector<Expr> fused_values(std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs),
                               const std::vector<Expr>& values,
                               const std::function<std::vector<Expr>(const std::vector<Expr>&)>& expressions);

/// An op made from a body graph of elementwise nodes, reads through an index (gather.h) and scalar constants; its
/// outputs are the body's, all of the same lengths. Made by the pass `fuse_elementwise`.
const Op& fused_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_fused(GraphPtr body, std::vector<Expr> inputs);

/// Writes the loop nest: `inputs` and `outputs` stand for the step's operands in order. Vectors run along the innermost
/// axis; operands that do not vary along it are loaded, and what depends on them alone is computed, once outside.
void lower_elementwise(kernel::StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs);
/// The code of the builder's node, by its record or its own lowering.
void lower_node(kernel::StepBuilder& b);

}  // namespace thtrain
