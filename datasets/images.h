// Examples that are images: their channels, height and width, and windows that are cut out of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "compiler/base/error.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

inline constexpr double kLargestImageSide = 65535;  // that a configuration may ask for

/// Channels, height and width.
using ImageShape = std::array<int64_t, 3>;

/// Of examples of these lengths: [channels, height, width], or [height, width] of one channel. Nothing of others.
std::optional<ImageShape> image_shape(const Shape& example);

/// The pixels beyond the edges: 0; those of the edge; or the image mirrored at the edge's pixels, again and again.
enum class Border { kConstant, kEdge, kReflect };

/// The pixel of an axis of n pixels at position i, which may be beyond them; -1 for one that is 0.
int64_t pixel_at(int64_t i, int64_t n, Border border);

/// Rows first_row to first_row + height of an image, and columns likewise, which may lie beyond its edges; then
/// mirrored: upside down, left to right.
struct Window {
  int64_t height = 0, width = 0;
  int64_t first_row = 0, first_column = 0;
  bool flip_rows = false, flip_columns = false;
};

/// The window of each channel of `image`, [channels, height, width], into `out`, [channels, window's height, width].
template <class T>
void copy_window(const T* image, const ImageShape& shape, const Window& window, Border border, T* out);
extern template void copy_window<float>(const float*, const ImageShape&, const Window&, Border, float*);
extern template void copy_window<double>(const double*, const ImageShape&, const Window&, Border, double*);

/// What models take of images: height x width pixels of an image with `padding` pixels of the border on each side.
struct ImageCrop {
  int64_t height = 0, width = 0, padding = 0;
  Border border = Border::kConstant;
  ConfigPosition where = {};

  /// The one in the middle, half a pixel further up and left where there is no middle.
  Window centre(const ImageShape& image) const;
  /// UserError where the padded image is smaller.
  void check(const ImageShape& image) const;
};

}  // namespace thtrain
