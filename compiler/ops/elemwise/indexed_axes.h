// Elements of a value that integers name: how their axes lie to those of the value and of the integers, and their
// location in a loop nest.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ops/elemwise/checked_index.h"

namespace thtrain {

/// Along each axis in `named` of a value x, an index tensor says where; all index tensors have the same lengths.
struct IndexedAxes {
  /// An axis of the elements: the axis of x, of the index tensors, or of both that it runs along.
  struct Axis {
    std::optional<size_t> of_x = {}, of_indices = {};
  };
  std::vector<Axis> axes;
  std::vector<size_t> named;
  std::vector<IndexCheck> checks;  // of the indices along each of them
  bool reports_row = false;        // {limit} of a check is the location of the index in its vector; else the length

  /// The lengths of the elements: Dims, or the Shape of a call.
  template <class T>
  std::vector<T> dims(const std::vector<T>& x, const std::vector<T>& indices) const {
    std::vector<T> out;
    for (const Axis& axis : axes) out.push_back(axis.of_x ? x[*axis.of_x] : indices[*axis.of_indices]);
    return out;
  }
};

/// Adds a kernel for each index tensor, which checks all its indices. Errors belong to `node`, whose input 0 is x.
void check_indices(kernel::StepBuilder& b, const Node& node, const IndexedAxes& form,
                   std::span<const kernel::Operand> indices);

/// Do loops over elements of these lengths meet every index, and lose nothing that they wrote before they meet a wrong
/// one? `last_may_be_empty`: the positions are computed outside the loop over the last axis where they do not vary
/// along it.
bool loops_check_indices(const kernel::StepBuilder& b, const IndexedAxes& form, const Dims& elements,
                         bool last_may_be_empty);

/// The named element of `x` in a nest, whose positions are added to it. `x` may have an axis more than the node's input
/// 0, of the parts of complex numbers. `onto` gives strides along the nest's axes from those along the elements'.
/// `checked`: check_indices() has added a check, and the nest needs none.
kernel::Location indexed_location(
    kernel::Nest& nest, const Node& node, const IndexedAxes& form, const Dims& elements, const kernel::Operand& x,
    std::span<const kernel::Operand> indices, bool checked,
    const std::function<Dims(const Dims&)>& onto = [](const Dims& strides) { return strides; });

}  // namespace thtrain
