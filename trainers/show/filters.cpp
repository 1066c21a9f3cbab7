#include "trainers/show/filters.h"

#include <cmath>

namespace thtrain {

std::optional<ImageShape> picture_shape(const Shape& example) {
  if (example.size() != 1) return image_shape(example);
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(example[0]))));
  constexpr int64_t kLeast = 4;  // fewer pixels show nothing
  if (side < kLeast || side * side != example[0]) return {};
  return ImageShape{1, side, side};
}

std::optional<Filters> filters_of(const Tensor& weights, const std::optional<ImageShape>& image) {
  Tensor rows;  // a unit in each
  ImageShape shape{};
  if (weights.rank() == 4) {
    shape = {weights.dim(1), weights.dim(2), weights.dim(3)};
    rows = weights.cast(DType::kFloat64).copy().reshape({weights.dim(0), element_count(shape)});
  } else if (weights.rank() == 2 && image && weights.dim(0) == element_count(*image)) {
    shape = *image;
    const Tensor matrix = weights.cast(DType::kFloat64).contiguous();
    rows = matrix.view({matrix.dim(1), matrix.dim(0)}, {1, matrix.dim(1)}, 0).copy();
  } else {
    return {};
  }
  const auto [channels, height, width] = shape;
  if (channels == 1 || channels == 3) return Filters{rows, shape, 1};
  return Filters{rows.reshape({rows.dim(0) * channels, height * width}), {1, height, width}, channels};
}

}  // namespace thtrain
