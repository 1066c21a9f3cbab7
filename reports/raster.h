// A picture as pixels: shapes and glyphs cover pixels in part at their edges (FreeType's rasterizer).
#pragma once

#include "reports/canvas.h"

namespace thtrain {

/// 3 channels. UserError where there is text, and no font (Font::missing()).
Pixels raster_of(const Canvas& canvas);

/// A PNG file.
std::string encode_png(const Pixels& pixels);
/// UserError where it cannot be written. Atomic.
void write_png(const std::string& path, const Pixels& pixels);

}  // namespace thtrain
