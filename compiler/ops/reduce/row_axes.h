// How the operands of a body of rows lie over its loops.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/reduce/fused_reduction.h"

namespace thtrain {

struct RowAxes {
  /// Axes of the loops over rows and over the elements of one. Strides of the operands, inputs first, which are 0 for
  /// what is read through an index; then what each gather steps through (Gather::kStepped for each).
  std::vector<LoopAxis> kept, reduced;
  std::vector<bool> varies;  // along a row, in the order of the strides
  Dim count = 1;             // elements of a row
};

/// `nodes` are the body's, `operands` the step's.
RowAxes row_axes(const RowDomain& domain, const Graph& body, std::span<const Node* const> nodes,
                 std::span<const kernel::Operand> operands, std::span<const Gather> gathers);

}  // namespace thtrain
