// A picture as SVG 1.1: shapes as shapes, and texts as texts.
#pragma once

#include <string>

#include "reports/canvas.h"

namespace thtrain {

/// The text of a file. Texts name the font's family and say their width, so that another font takes the same width.
std::string svg_of(const Canvas& canvas);
/// What is near its beginning where the canvas has a maker.
std::string svg_maker(std::string_view maker);

}  // namespace thtrain
