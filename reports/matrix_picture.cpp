#include "reports/matrix_picture.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

namespace {

constexpr double kPageWidth = 760, kPageHeight = 600, kCell = 24, kLegible = 14;

Tensor transposed(const Tensor& values) {
  const int64_t rows = values.dim(0), columns = values.dim(1);
  Tensor out = Tensor::empty(DType::kFloat64, {columns, rows});
  for (int64_t i = 0; i < values.size(); ++i)
    out.data<double>()[i % columns * rows + i / columns] = values.data<double>()[i];
  return out;
}

// Each pixel `across` times in its row, and each row `down` times.
Pixels repeated(const Pixels& of, int64_t across, int64_t down) {
  Pixels out{.width = of.width * across, .height = of.height * down, .channels = of.channels};
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = 0; x < out.width; ++x) {
      const auto* from = &of.values[static_cast<size_t>((y / down * of.width + x / across) * of.channels)];
      out.values.insert(out.values.end(), from, from + of.channels);
    }
  return out;
}

}  // namespace

MatrixPicture draw_matrix(const Tensor& values, const std::vector<std::string>& row_names,
                          const std::vector<std::string>& column_names, const std::string& name) {
  MatrixPicture out;
  // Rows of cells that are high enough to read, where that is possible.
  out.is_transposed = static_cast<double>(values.dim(0)) * kCell > kPageHeight && values.dim(0) > values.dim(1);
  const Tensor drawn = out.is_transposed ? transposed(values) : values;
  const auto rows = static_cast<double>(drawn.dim(0)), columns = static_cast<double>(drawn.dim(1));
  const double width = std::min(kCell, kPageWidth / columns), height = std::min(kCell, kPageHeight / rows);
  // The page enlarges by whole numbers, and pixels stay squares: long cells are several of them.
  double times = std::min(width, height);
  if (times >= 1) times = std::floor(times);
  const auto down = std::max<int64_t>(1, static_cast<int64_t>(height / times));
  auto across = std::max<int64_t>(1, static_cast<int64_t>(width / times));
  if (columns * 2 <= rows) across *= 2;  // a few columns in cells that have room for their names
  const ValueRange range = range_of(values.data<double>(), values.size());
  const double most = std::max({std::abs(range.low), std::abs(range.high), 1e-30});
  const Pixels cells = repeated(scale_pixels(drawn, {-most, most}, ColourScale::kSigned), across, down);
  SheetSection& section = out.section;
  section.side = times * static_cast<double>(std::max(cells.width, cells.height));
  section.tiles = {{.pixels = cells}};
  section.scales = {{ColourScale::kSigned, {-most, most}, name}};
  const auto& left = out.is_transposed ? column_names : row_names;
  const auto& below = out.is_transposed ? row_names : column_names;
  if (times * static_cast<double>(down) >= kLegible) section.pixel_names = left;
  if (times * static_cast<double>(across) >= kLegible) section.pixel_columns = below;
  return out;
}

}  // namespace thtrain
