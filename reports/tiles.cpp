#include "reports/tiles.h"

#include <algorithm>

#include "reports/raster.h"

namespace thtrain {

void GreyPicture::write_png(const std::string& path) const {
  thtrain::write_png(path, {.width = width, .height = height, .channels = 1, .values = pixels});
}

GreyPicture tiles_of(const Tensor& values, int64_t height, int64_t width, int64_t rows, int64_t columns) {
  const int64_t pixels = height * width;
  TH_CHECK(values.rank() == 2 && values.dim(1) == pixels, values.type_text(), " as pictures of ", height, " x ", width);
  GreyPicture out{.width = columns * (width + 1) - 1, .height = rows * (height + 1) - 1};
  out.pixels.resize(static_cast<size_t>(out.width * out.height));
  const Tensor all = values.cast(DType::kFloat64);
  for (int64_t tile = 0; tile < std::min(rows * columns, all.dim(0)); ++tile) {
    const double* from = all.data<double>() + tile * pixels;
    const auto [least, largest] = std::minmax_element(from, from + pixels);
    const double factor = 1 / (*largest - *least + 1e-8);
    const int64_t top = tile / columns * (height + 1), left = tile % columns * (width + 1);
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        out.pixels[static_cast<size_t>((top + y) * out.width + left + x)] =
            static_cast<uint8_t>(255 * ((from[y * width + x] - *least) * factor));
  }
  return out;
}

}  // namespace thtrain
