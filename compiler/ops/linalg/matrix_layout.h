// How a library's matrix product sees an operand: rows or columns side by side.
#pragma once

#include <optional>

#include "compiler/ir/op.h"

namespace thtrain {

struct MatrixLayout {
  bool transposed;  // the elements of a column lie side by side
  Dim leading;      // elements between stored rows; at least their length, as BLAS wants it
};

/// nullopt where neither rows nor columns lie side by side.
std::optional<MatrixLayout> matrix_layout(const Dims& dims, const Layout& layout);
/// A vector's step for BLAS; nullopt unless it is provably positive.
std::optional<Dim> vector_step(const Dims& dims, const Layout& layout);

}  // namespace thtrain
