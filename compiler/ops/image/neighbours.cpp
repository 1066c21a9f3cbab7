#include "compiler/ops/image/neighbours.h"

#include "compiler/ops/image/pad.h"
#include "compiler/ops/image/windows.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

void require_window(const std::string& builder, const char* what, RowsColumns lengths,
                    const std::source_location& where) {
  if (lengths.first < 1 || lengths.second < 1)
    fail_build(where, str(builder, ": the ", what, " has no elements"), "at least 1 row and 1 column",
               str(lengths.first, " rows, ", lengths.second, " columns"));
}

// The part of a length that whole windows fill.
Dim filled(const Dim& length, int64_t window, int64_t step) {
  return floor_div(length - Dim(window), Dim(step)) * Dim(step) + window;
}

// x, whose last two axes windows must fill exactly; where only a call knows, that is checked then.
Expr exactly_filled(const std::string& builder, const Expr& x, RowsColumns window, RowsColumns step,
                    const std::source_location& where) {
  Dims dims = x.dims();
  const int64_t sizes[] = {window.first, window.second}, steps[] = {step.first, step.second};
  for (size_t k = 0; k < 2; ++k) {
    Dim& length = dims[2 + k];
    const Dim whole = filled(length, sizes[k], steps[k]);
    if (length.is_known() && (length.value() < sizes[k] || !(whole == length)))
      fail_build(where,
                 str(builder, ": windows of ", sizes[k], k == 0 ? " rows" : " columns", ", ", steps[k],
                     " apart, do not fill the image"),
                 str(sizes[k], ", or some times ", steps[k], " more"), str(length.value(), " with its borders"),
                 "ignore_borders leaves out what is left over");
    length = whole;
  }
  return dims == x.dims() ? x : specify_lengths(x, dims, str(builder, ": windows do not fill the image"));
}

Expr padded(const Expr& images, RowsColumns width, PadMode mode = PadMode::kConstant) {
  return pad(images, {{width.first, width.first}, {width.second, width.second}}, mode);
}

}  // namespace

Expr images_to_neighbours(const Operand& operand, RowsColumns window, std::optional<RowsColumns> given,
                          NeighbourMode mode) {
  const std::string builder = "images_to_neighbours";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const auto [rows, columns] = window;
  const RowsColumns step = given.value_or(window);
  Expr x = operand.expr();
  if (x.rank() != 4)
    fail_build(operand.where(), str(builder, ": the value is not a list of images"),
               "4 axes: images, channels, rows, columns", value_text(x));
  require_window(builder, "window", window, operand.where());
  require_window(builder, "step", step, operand.where());
  switch (mode) {
    case NeighbourMode::kValid:
    case NeighbourMode::kIgnoreBorders:
      break;
    case NeighbourMode::kWrapCentered:
      if (rows % 2 == 0 || columns % 2 == 0)
        fail_build(operand.where(), str(builder, ": a window has no centre"), "an odd number of rows and of columns",
                   str(rows, " rows, ", columns, " columns"));
      x = padded(x, {rows / 2, columns / 2}, PadMode::kWrap);
      break;
    case NeighbourMode::kHalf:
      x = padded(x, {rows / 2, columns / 2});
      break;
    case NeighbourMode::kFull:
      x = padded(x, {rows - 1, columns - 1});
      break;
  }
  if (mode != NeighbourMode::kIgnoreBorders && mode != NeighbourMode::kWrapCentered)
    x = exactly_filled(builder, x, window, step, operand.where());
  const Expr parts = windows(x, {2, 3}, {rows, columns}, {step.first, step.second});
  const Dims& n = parts.dims();
  return reshape(parts, Dims{n[0] * n[1] * n[2] * n[3], rows * columns});
}

Expr neighbours_to_images(const Operand& operand, RowsColumns window, const LengthList& lengths, NeighbourMode mode) {
  const std::string builder = "neighbours_to_images";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const auto [rows, columns] = window;
  const Expr x = operand.expr();
  require_window(builder, "window", window, operand.where());
  if (mode != NeighbourMode::kValid && mode != NeighbourMode::kIgnoreBorders)
    fail_build(operand.where(), str(builder, ": windows of this mode overlap"), "valid or ignore_borders",
               "another mode");
  if (x.rank() != 2 || lengths.dims.size() != 4)
    fail_build(operand.where(), str(builder, ": the windows or the images have another number of axes"),
               "a matrix, and the lengths of images, channels, rows, columns",
               str(value_text(x), readable(str(", lengths [", dims_text(lengths.dims), "]"))));
  const Dims& to = lengths.dims;
  const Dim down = floor_div(to[2], Dim(rows)), across = floor_div(to[3], Dim(columns));
  const Dim left_rows = to[2] - down * Dim(rows), left_columns = to[3] - across * Dim(columns);
  if (mode == NeighbourMode::kValid)
    for (const Dim& left : {left_rows, left_columns})
      if (left.is_known() && left.value() > 0)
        fail_build(operand.where(),
                   str(builder, ": windows of ", rows, " rows and ", columns, " columns do not fill the images"),
                   "lengths that are multiples of the window's", readable(str("[", dims_text(to), "]")),
                   "ignore_borders leaves what is left over 0");
  const Dims matrix{to[0] * to[1] * down * across, rows * columns};
  for (size_t axis = 0; axis < 2; ++axis)
    if (matrix[axis].is_known() && x.dims()[axis].is_known() && !(matrix[axis] == x.dims()[axis]))
      fail_build(operand.where(), str(builder, ": the matrix does not hold the windows of such images"),
                 readable(str("[", dims_text(matrix), "], of images [", dims_text(to), "]")), value_text(x));
  // [N, C, down, across, rows, columns] -> [N, C, down, rows, across, columns]
  const Expr parts = reshape(specify_lengths(x, matrix, builder), Dims{to[0], to[1], down, across, rows, columns});
  const Expr images =
      reshape(transpose(parts, {0, 1, 2, 4, 3, 5}), Dims{to[0], to[1], down * Dim(rows), across * Dim(columns)});
  if (left_rows.is(0) && left_columns.is(0)) return images;
  if (mode == NeighbourMode::kValid)
    return specify_lengths(images, to, str(builder, ": windows do not fill the images"));
  const Expr wide =
      left_columns.is(0) ? images : join(3, {images, zeros({to[0], to[1], down * Dim(rows), left_columns}, x.dtype())});
  return left_rows.is(0) ? wide : join(2, {wide, zeros({to[0], to[1], left_rows, to[3]}, x.dtype())});
}

}  // namespace thtrain
