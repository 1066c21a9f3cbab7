// Many small grey pictures side by side, as a PNG file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// Rows of grey pixels, 0 is black.
struct GreyPicture {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels = {};

  /// UserError where it cannot be written. Atomic.
  void write_png(const std::string& path) const;
};

/// The rows of `values` [n, height * width], floats, each as a picture of height x width pixels: `rows` of `columns`
/// pictures, in row-major order, with a black pixel between them; what is more is left out, and where there are less it
/// stays black. Each picture is scaled by itself: a value v becomes the integer part of
///
///   255 (v - least) / (largest - least + 1e-8)
///
/// in float64, as the Deep Learning Tutorials' tile_raster_images draws it.
GreyPicture tiles_of(const Tensor& values, int64_t height, int64_t width, int64_t rows, int64_t columns);

}  // namespace thtrain
