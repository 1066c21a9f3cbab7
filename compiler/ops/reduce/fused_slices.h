// Slice by slice: elementwise expressions and the reductions between them, in one kernel.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// An op made from a body graph over a domain and some of its axes, along which it has reductions. Every value of the
/// body has one of three forms: elements (the domain's lengths), or one number for each slice, as the reductions leave
/// it (those axes dropped, or kept with length 1); elements and numbers may be read through an index (gather.h). Made
/// by the pass `fuse_slices`.
const Op& fused_slices_op();
std::shared_ptr<const Node> make_fused_slices(GraphPtr body, std::vector<Expr> inputs);

/// What a body of slices runs over: the lengths of its elements, and the axes that its reductions take away.
struct SliceDomain {
  Dims dims;
  std::vector<int64_t> axes;

  /// The lengths of a number for each slice.
  Dims dropped() const;
  Dims kept() const;
  bool reduces(size_t axis) const;
  /// Are the reduced axes the first ones? Then a number for each slice is broadcast over the elements as it is.
  bool is_leading() const;
};

/// The domain of a body, from its reductions.
SliceDomain domain_of(const Graph& body);

/// How slices of no elements are met: as an error where a reduction has no value for them, or by writing nothing.
enum class EmptySlices { kCheck, kSkip };

/// Writes the kernel of `body`; the step's operands are the body's inputs and outputs, in order. For each slice: one
/// loop over its elements for each reduction that needs the result of another, and a last one that writes. Vectors run
/// along the slice, or over neighbouring slices where only those lie side by side or where slices are short. Values
/// that a later loop needs are kept beside, where the slice's length is known and small, or computed again.
void lower_slices(kernel::StepBuilder& b, const Graph& body, EmptySlices empty = EmptySlices::kCheck);

}  // namespace thtrain
