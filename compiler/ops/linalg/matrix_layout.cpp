#include "compiler/ops/linalg/matrix_layout.h"

namespace thtrain {

std::optional<MatrixLayout> matrix_layout(const Dims& dims, const Layout& layout) {
  const Dim &rows = dims[0], &columns = dims[1];
  const Dim &down = layout.strides[0], &across = layout.strides[1];
  // A single row or column may have any step between its (absent) neighbours, and so may a matrix without elements.
  if (rows.is(0) || columns.is(0)) return MatrixLayout{false, max(columns, 1)};
  if (across.is(1) || columns.is(1)) {
    if (rows.is(1)) return MatrixLayout{false, max(columns, 1)};
    if (down.is_at_least(columns) && !down.is(0)) return MatrixLayout{false, max(down, 1)};
  }
  if (down.is(1) || rows.is(1)) {
    if (columns.is(1)) return MatrixLayout{true, max(rows, 1)};
    if (across.is_at_least(rows) && !across.is(0)) return MatrixLayout{true, max(across, 1)};
  }
  return std::nullopt;
}

std::optional<Dim> vector_step(const Dims& dims, const Layout& layout) {
  if (dims[0].is(1)) return Dim(1);
  if (!layout.strides[0].is_at_least(1)) return std::nullopt;
  return layout.strides[0];
}

}  // namespace thtrain
