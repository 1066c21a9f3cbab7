// Elements that integers name as loads of a fused loop: nodes with Op::gather inside its body.
#pragma once

#include <functional>
#include <span>

#include "compiler/ir/graph.h"
#include "compiler/ops/elemwise/indexed_axes.h"

namespace thtrain {

/// Can it be a load of a loop, and is that no slower? (A complex number would be two gathers, and a constant index
/// is a part, not a gather. Single elements, which vectors must be put together from, are faster on their own where
/// they are known to be many.)
bool may_be_gathered(const Node& node, const kernel::FusionLimits& limits);

/// Is that input of the body read through an index by one of the nodes?
bool reads_through_index(std::span<const Node* const> nodes, const Expr& input);

/// Adds to a nest the load of a node that reads through an index. `inputs` are the body's; the step's inputs come in
/// the same order. `onto` gives strides along the nest's axes from those along the result's. First adds kernels that
/// check every index, unless the loops check them all and nothing is lost that they wrote before: where no axis besides
/// the indices' can be empty, and no variable is written.
kernel::Term gathered(
    kernel::StepBuilder& b, kernel::Nest& nest, const Node& node, std::span<const Expr> inputs,
    const std::function<Dims(const Dims&)>& onto = [](const Dims& strides) { return strides; });

}  // namespace thtrain
