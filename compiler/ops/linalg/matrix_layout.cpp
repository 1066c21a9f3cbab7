#include "compiler/ops/linalg/matrix_layout.h"

namespace thtrain {

std::optional<MatrixLayout> matrix_layout(const Dims& dims, const Layout& layout) {
  const size_t last = dims.size() - 1;
  const Dim &rows = dims[last - 1], &columns = dims[last];
  const Dim &row_stride = layout.strides[last - 1], &column_stride = layout.strides[last];
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

std::vector<BatchAxis> batch_axes(const kernel::Operand& a, const kernel::Operand& b, const kernel::Operand& out) {
  std::vector<BatchAxis> axes;
  for (size_t i = 0; i + 2 < out.type.rank(); ++i) {
    const BatchAxis axis{out.type.dims[i], a.layout.strides[i], b.layout.strides[i], out.layout.strides[i]};
    if (axis.length.is(1)) continue;
    auto lies_as_one = [&](Dim BatchAxis::*step) { return axes.back().*step == axis.*step * axis.length; };
    if (!axes.empty() && lies_as_one(&BatchAxis::a) && lies_as_one(&BatchAxis::b) && lies_as_one(&BatchAxis::out))
      axes.back() = {axes.back().length * axis.length, axis.a, axis.b, axis.out};
    else
      axes.push_back(axis);
  }
  return axes;
}

std::optional<Dim> vector_step(const Dims& dims, const Layout& layout) {
  if (dims[0].is(1)) return Dim(1);
  if (!layout.strides[0].is_at_least(1)) return std::nullopt;
  return layout.strides[0];
}

}  // namespace thtrain
