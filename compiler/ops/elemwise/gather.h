// Reading through an index as a load of a fused loop: ops like take and pick_rows inside its body.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/elemwise/checked_index.h"

namespace thtrain {

/// How the axes of a gather's result step through what it reads.
struct GatherSteps {
  size_t axis;               // of the source, which the positions are along
  IndexCheck check;          // of an index into that axis
  bool reports_row = false;  // the check's {limit} is the index's place; else the length
  Dims source, indices;      // strides along the axes of the result, in elements; the source's without `axis`
};

/// Op::gather: each element of the result is the element of input `source` at the position that input `indices` names.
/// The result has the source's dtype. Both inputs are computed before a loop that takes the node in.
struct GatherRule {
  size_t source, indices;
  /// Does one index name whole rows, whose elements are those of the result's last axis?
  bool (*reads_rows)(const Node& node);
  GatherSteps (*steps)(const Node& node, const kernel::Operand& source, const kernel::Operand& indices);
};

/// Can it be a load of a loop, and is that no slower? (A complex number would be two gathers, and a constant index
/// is a part, not a gather. Single elements, which vectors must be put together from, are faster on their own where
/// they are known to be many.)
bool may_be_gathered(const Node& node, const kernel::FusionLimits& limits);

/// Is that input of the body read through an index by one of the nodes?
bool reads_through_index(std::span<const Node* const> nodes, const Expr& input);

/// Adds to a nest the load of a node that reads through an index. `inputs` are the body's; the step's inputs come in
/// the same order. `onto` gives strides along the nest's axes from those along the result's. First adds a kernel that
/// checks every index, unless the loops check them all and nothing is lost that they wrote before: where no axis beside
/// the indices' can be empty, and no variable is written.
kernel::Term gathered(
    kernel::StepBuilder& b, kernel::Nest& nest, const Node& node, std::span<const Expr> inputs,
    const std::function<Dims(const Dims&)>& onto = [](const Dims& strides) { return strides; });
/// The step's node alone, over the axes of its result; complex numbers by their parts.
void lower_gather(kernel::StepBuilder& b, const std::string& comment);

}  // namespace thtrain
