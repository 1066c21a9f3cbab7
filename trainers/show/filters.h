// Weights as pictures: what each unit of a layer looks for.
#pragma once

#include <optional>

#include "compiler/ir/tensor.h"
#include "datasets/images.h"

namespace thtrain {

/// The picture that an example of this shape is: [28, 28], [3, 32, 32], or [784], which may be a square of at least 4 x
/// 4 pixels. Nothing of others.
std::optional<ImageShape> picture_shape(const Shape& example);

/// Pictures of the units of a layer, in their order.
struct Filters {
  Tensor values;            // float64 [n, channels * height * width]
  ImageShape picture = {};  // 1 or 3 channels
  int64_t of_unit = 1;      // pictures of each unit: its channels, where they are neither 1 nor 3
};

/// Of a weight [units, channels, rows, columns] of a convolution, or [numbers of `image`, units] of a layer that takes
/// such images as rows; `image` {}: not known. Nothing of others.
std::optional<Filters> filters_of(const Tensor& weights, const std::optional<ImageShape>& image);

}  // namespace thtrain
