#include "datasets/images.h"

#include <algorithm>

namespace thtrain {

std::optional<ImageShape> image_shape(const Shape& example) {
  if (example.size() == 2) return ImageShape{1, example[0], example[1]};
  if (example.size() == 3) return ImageShape{example[0], example[1], example[2]};
  return std::nullopt;
}

int64_t pixel_at(int64_t i, int64_t n, Border border) {
  if (i >= 0 && i < n) return i;
  if (border == Border::kConstant) return -1;
  if (border == Border::kEdge || n == 1) return i < 0 ? 0 : n - 1;
  const int64_t period = 2 * (n - 1), position = ((i % period) + period) % period;
  return position < n ? position : period - position;
}

namespace {

// One row of the window, not mirrored; `from` is a row of `width` pixels.
template <class T>
void copy_row(const T* from, int64_t width, const Window& window, Border border, T* out) {
  const int64_t first = window.first_column;
  const int64_t begin = std::clamp<int64_t>(-first, 0, window.width);  // of the pixels that are the image's
  const int64_t end = std::clamp<int64_t>(width - first, begin, window.width);
  auto beyond = [&](int64_t j) {
    const int64_t pixel = pixel_at(first + j, width, border);
    return pixel < 0 ? T{0} : from[pixel];
  };
  for (int64_t j = 0; j < begin; ++j) out[j] = beyond(j);
  if (end > begin) std::copy(from + first + begin, from + first + end, out + begin);
  for (int64_t j = end; j < window.width; ++j) out[j] = beyond(j);
}

}  // namespace

template <class T>
void copy_window(const T* image, const ImageShape& shape, const Window& window, Border border, T* out) {
  const auto [channels, height, width] = shape;
  for (int64_t c = 0; c < channels; ++c, image += height * width)
    for (int64_t i = 0; i < window.height; ++i, out += window.width) {
      const int64_t down = window.flip_rows ? window.height - 1 - i : i;
      const int64_t row = pixel_at(window.first_row + down, height, border);
      if (row < 0) {
        std::fill_n(out, window.width, T{0});
        continue;
      }
      copy_row(image + row * width, width, window, border, out);
      if (window.flip_columns) std::reverse(out, out + window.width);
    }
}
template void copy_window<float>(const float*, const ImageShape&, const Window&, Border, float*);
template void copy_window<double>(const double*, const ImageShape&, const Window&, Border, double*);

// Rounded down, also below 0.
static int64_t half(int64_t n) {
  return n >= 0 ? n / 2 : (n - 1) / 2;
}

Window ImageCrop::centre(const ImageShape& image) const {
  return {height, width, half(image[1] - height), half(image[2] - width)};
}

void ImageCrop::check(const ImageShape& image) const {
  const int64_t rows = image[1] + 2 * padding, columns = image[2] + 2 * padding;
  if (height <= rows && width <= columns) return;
  const std::string around =
      padding > 0 ? str(", with ", padding, padding == 1 ? " pixel" : " pixels", " of padding on each side") : "";
  throw UserError({.what = "trainer.augment.crop is larger than the images",
                   .expected = str("at most [", rows, ", ", columns, "]: the images are ", image[1], 'x', image[2],
                                   " pixels", around),
                   .got = str('[', height, ", ", width, ']'),
                   .config = where,
                   .hint = "trainer.augment.padding puts pixels around them"});
}

}  // namespace thtrain
