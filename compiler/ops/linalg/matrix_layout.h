// How a matrix product sees its operands: rows or columns side by side, and the matrices of a batch.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

struct MatrixLayout {
  bool transposed;  // the elements of a column lie side by side
  Dim leading;      // elements between stored rows; at least their length, as BLAS wants it
};

/// Of a matrix, or of each of a batch of matrices, whose rows and columns are the last two axes; nullopt where neither
/// rows nor columns lie side by side.
std::optional<MatrixLayout> matrix_layout(const Dims& dims, const Layout& layout);

/// An axis of a batch: how many matrices there are, and the elements from one to the next in each operand.
struct BatchAxis {
  Dim length, a, b, out;
};
/// All axes of three operands of one rank but the last two, from the outermost: axes that lie as one are one, those of
/// length 1 are left out.
std::vector<BatchAxis> batch_axes(const kernel::Operand& a, const kernel::Operand& b, const kernel::Operand& out);

/// A vector's step for BLAS; nullopt unless it is provably positive.
std::optional<Dim> vector_step(const Dims& dims, const Layout& layout);

}  // namespace thtrain
