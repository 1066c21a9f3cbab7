// A picture as pixels: shapes and glyphs cover pixels in part at their edges (FreeType's rasterizer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "reports/canvas.h"

namespace thtrain {

/// The pixels [first, second) of an axis of `count` that a side from `low` to `high` covers, to the nearest.
std::pair<int64_t, int64_t> nearest_pixels(double low, double high, int64_t count);

/// 3 channels. UserError where there is text, and no font (Font::missing()).
Pixels raster_of(const Canvas& canvas);

/// A PNG file.
std::string encode_png(const Pixels& pixels);
/// UserError where it cannot be written. Atomic. With a `maker`, the file has it as a text of the name "Software".
void write_png(const std::string& path, const Pixels& pixels, std::string_view maker = "");
/// The chunk of such a file that has it, which is near its beginning.
std::string png_maker(std::string_view maker);

}  // namespace thtrain
