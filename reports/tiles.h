// Many small pictures side by side, without text.
#pragma once

#include "compiler/ir/tensor.h"
#include "datasets/images.h"
#include "reports/canvas.h"

namespace thtrain {

/// The rows of `values` [n, channels * height * width], floats, each as a picture of that shape, of 1 channel (grey) or
/// 3 (red, green, blue): `rows` of `columns` pictures, in row-major order, with a black pixel between them; what is
/// more is left out, and where there are less it stays black. Each picture is scaled by itself, all its channels alike:
/// a value v becomes the integer part of
///
///   255 (v - least) / (largest - least + 1e-8)
///
/// in float64, as the Deep Learning Tutorials' tile_raster_images draws it.
Pixels tiles_of(const Tensor& values, const ImageShape& picture, int64_t rows, int64_t columns);

}  // namespace thtrain
