// How the operands of a row-wise reduction lie over its axes.
#pragma once

#include <span>

#include "compiler/ir/op.h"
#include "compiler/kernel/nest.h"
#include "compiler/ops/reduce/fused_reduction.h"

namespace thtrain {

/// Is it a per-row scalar whose axes were dropped?
bool is_dropped(const RowDomain& domain, const Expr& e);
/// Strides of such a value over the axes of the domain, from those over the axes that stay.
Dims around_reduced(const RowDomain& domain, const Dims& over);
/// The location of an input of the body; `nodes` are the body's.
kernel::Location location_of_input(const RowDomain& domain, std::span<const Node* const> nodes, const Expr& input,
                                   const kernel::Operand& operand);
kernel::Location location_of_output(const RowDomain& domain, const Expr& output, const kernel::Operand& operand);

/// How a node over rows reads an input: by row where a row needs the input's part for that row alone, as a whole
/// where every row reads it again.
Access access_by_slices(const Node& node, size_t input);

}  // namespace thtrain
