#include "reports/pixels.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

ValueRange range_of(const double* first, int64_t count) {
  const auto [low, high] = std::minmax_element(first, first + count);
  return {*low, *high};
}

// 0.5 of an empty range.
static double part_of(double value, const ValueRange& range) {
  if (!(range.high > range.low)) return 0.5;
  return std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
}

Pixels image_pixels(const double* first, const ImageShape& image, const ValueRange& range) {
  const auto [channels, height, width] = image;
  TH_CHECK(channels == 1 || channels == 3, "a picture of ", channels, " channels");
  Pixels out{.width = width, .height = height, .channels = static_cast<int>(channels)};
  out.values.resize(static_cast<size_t>(channels * height * width));
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < height * width; ++i)
      out.values[static_cast<size_t>(i * channels + c)] =
          static_cast<uint8_t>(std::lround(255 * part_of(first[c * height * width + i], range)));
  return out;
}

static Colour mix(Colour from, Colour to, double part) {
  auto between = [part](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + part * (b - a))); };
  return {between(from.red, to.red), between(from.green, to.green), between(from.blue, to.blue)};
}

// White, a clear colour in the middle, a dark one at the end.
static Colour from_white(Colour middle, Colour end, double part) {
  return part < 0.5 ? mix({255, 255, 255}, middle, 2 * part) : mix(middle, end, 2 * part - 1);
}

// CIE L* of the stops: 13, 35, 54, 75, 95.
static Colour signed_colour(double part) {
  constexpr Colour kStops[] = {{12, 26, 88}, {48, 78, 150}, {128, 128, 128}, {208, 184, 92}, {255, 242, 150}};
  const double at = 4 * part;
  const auto stop = std::min(static_cast<size_t>(at), size_t{3});
  return mix(kStops[stop], kStops[stop + 1], at - static_cast<double>(stop));
}

Colour scale_colour(ColourScale scale, double part) {
  constexpr Colour kBlue{66, 133, 200}, kDarkBlue{8, 40, 100}, kRed{225, 95, 70}, kDarkRed{110, 10, 25};
  switch (scale) {
    case ColourScale::kBlue:
      return from_white(kBlue, kDarkBlue, part);
    case ColourScale::kFromRed:
      return from_white(kRed, kDarkRed, 1 - part);
    case ColourScale::kSigned:
      break;
  }
  return signed_colour(part);
}

Pixels scale_pixels(const Tensor& values, const ValueRange& range, ColourScale scale) {
  Pixels out{.width = values.dim(1), .height = values.dim(0), .channels = 3};
  for (int64_t i = 0; i < values.size(); ++i) {
    const Colour colour = scale_colour(scale, part_of(values.as_double(i), range));
    out.values.insert(out.values.end(), {colour.red, colour.green, colour.blue});
  }
  return out;
}

}  // namespace thtrain
