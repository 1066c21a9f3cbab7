// Numbers as the pixels of small pictures: grey, coloured, and by scales of colours.
#pragma once

#include <cstdint>

#include "compiler/ir/tensor.h"
#include "datasets/images.h"
#include "reports/canvas.h"

namespace thtrain {

/// The range of numbers that a picture shows.
struct ValueRange {
  double low = 0, high = 1;
};
/// Of the `count` numbers from `first` on, at least one.
ValueRange range_of(const double* first, int64_t count);

/// An image [1 or 3 channels, height, width] at `first`: grey, or red, green and blue. `range.low` becomes 0 and
/// `range.high` 255, and what is outside is cut off; an empty range is all grey.
Pixels image_pixels(const double* first, const ImageShape& image, const ValueRange& range);

/// Colours from the low end of a range to the high one.
enum class ColourScale {
  kBlue,     // white to dark blue
  kFromRed,  // dark red to white
  /// Dark blue, grey in the middle, light yellow: lighter all the way, so that what is below the middle is darker than
  /// it, and what is above lighter, without colours too.
  kSigned,
};
/// At `part` from 0 to 1 of a scale.
Colour scale_colour(ColourScale scale, double part);
/// A matrix, float64 [height, width].
Pixels scale_pixels(const Tensor& values, const ValueRange& range, ColourScale scale);

}  // namespace thtrain
