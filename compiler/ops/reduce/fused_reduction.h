// Row by row: elementwise expressions and the reductions between them, in one kernel.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// An op made from a body graph over a domain and some of its axes, along which it has reductions. Every value of the
/// body has one of three forms: elements (the domain's lengths), or one number for each row, as the reductions leave
/// it (those axes dropped, or kept with length 1); elements and numbers may be read through an index (gather.h). Made
/// by the pass `fuse_reductions`.
const Op& fused_reduction_op();
std::shared_ptr<const Node> make_fused_reduction(GraphPtr body, std::vector<Expr> inputs);

/// What a body of rows runs over: the lengths of its elements, and the axes that its reductions take away.
struct RowDomain {
  Dims dims;
  std::vector<int64_t> axes;

  /// The lengths of a number for each row.
  Dims dropped() const;
  Dims kept() const;
  bool reduces(size_t axis) const;
  /// Are the reduced axes the first ones? Then a number for each row is broadcast over the elements as it is.
  bool is_leading() const;
};

/// The domain of a body, from its reductions.
RowDomain domain_of(const Graph& body);

/// How rows of no elements are met: as an error where a reduction has no value for them, or by writing nothing.
enum class EmptyRows { kCheck, kSkip };

/// Writes the kernel of `body`; the step's operands are the body's inputs and outputs, in order. For each row: one
/// loop over its elements for each reduction that needs the result of another, and a last one that writes. Vectors run
/// along the row, or over neighbouring rows where only those lie side by side or where rows are short. Values
/// that a later loop needs are kept beside, where the row's length is known and small, or computed again.
void lower_rows(kernel::StepBuilder& b, const Graph& body, EmptyRows empty = EmptyRows::kCheck);

}  // namespace thtrain
