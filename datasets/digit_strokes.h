// The pen's paths of the digits 0 to 9, several ways of writing each, as cubic Bezier curves in integers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thtrain {

/// In a box of 100 wide and 140 high; y points down.
struct StrokePoint {
  int32_t x = 0, y = 0;
};

/// Curves that follow each other without lifting the pen: 3 k + 1 points, of which every third is passed through and
/// the two between are the handles of the curve.
using Stroke = std::vector<StrokePoint>;
using Glyph = std::vector<Stroke>;

/// The ways of writing `digit` (0 to 9).
std::span<const Glyph> glyphs_of(int digit);

}  // namespace thtrain
