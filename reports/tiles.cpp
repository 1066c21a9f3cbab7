#include "reports/tiles.h"

#include <algorithm>

namespace thtrain {

Pixels tiles_of(const Tensor& values, const ImageShape& picture, int64_t rows, int64_t columns) {
  const auto [channels, height, width] = picture;
  const int64_t pixels = height * width;
  TH_CHECK((channels == 1 || channels == 3) && values.rank() == 2 && values.dim(1) == channels * pixels,
           values.type_text(), " as pictures ", shape_text(picture));
  Pixels out{
      .width = columns * (width + 1) - 1, .height = rows * (height + 1) - 1, .channels = static_cast<int>(channels)};
  out.values.resize(static_cast<size_t>(out.width * out.height * channels));
  const Tensor all = values.cast(DType::kFloat64);
  for (int64_t tile = 0; tile < std::min(rows * columns, all.dim(0)); ++tile) {
    const double* from = all.data<double>() + tile * channels * pixels;
    const auto [least, largest] = std::minmax_element(from, from + channels * pixels);
    const double factor = 1 / (*largest - *least + 1e-8);
    const int64_t top = tile / columns * (height + 1), left = tile % columns * (width + 1);
    for (int64_t i = 0; i < channels * pixels; ++i) {
      const int64_t c = i / pixels, y = i % pixels / width, x = i % width;
      out.values[static_cast<size_t>(((top + y) * out.width + left + x) * channels + c)] =
          static_cast<uint8_t>(255 * ((from[i] - *least) * factor));
    }
  }
  return out;
}

}  // namespace thtrain
