#include "compiler/ops/linalg/matrix_layout.h"

namespace thtrain {

std::optional<MatrixLayout> matrix_layout(const Dims& dims, const Layout& layout) {
  const Dim &rows = dims[0], &columns = dims[1];
  const Dim &row_stride = layout.strides[0], &column_stride = layout.strides[1];
  // A single row or column may have any step between its (absent) neighbours, and so may a matrix without elements.
  if (rows.is(0) || columns.is(0)) return MatrixLayout{false, max(columns, 1)};
  if (column_stride.is(1) || columns.is(1)) {
    if (rows.is(1)) return MatrixLayout{false, max(columns, 1)};
    if (row_stride.is_at_least(columns) && !row_stride.is(0)) return MatrixLayout{false, max(row_stride, 1)};
  }
  if (row_stride.is(1) || rows.is(1)) {
    if (columns.is(1)) return MatrixLayout{true, max(rows, 1)};
    if (column_stride.is_at_least(rows) && !column_stride.is(0)) return MatrixLayout{true, max(column_stride, 1)};
  }
  return std::nullopt;
}

std::optional<Dim> vector_step(const Dims& dims, const Layout& layout) {
  if (dims[0].is(1)) return Dim(1);
  if (!layout.strides[0].is_at_least(1)) return std::nullopt;
  return layout.strides[0];
}

}  // namespace thtrain
