// Lines as lists of points: cut at a box, thinned out to what can be seen, parted into dashes.
#pragma once

#include <vector>

#include "reports/canvas.h"

namespace thtrain {

using Points = std::vector<Point>;

/// The parts of a line within `box`; it is parted where a point is not finite, too. A point alone is kept.
std::vector<Points> clipped(const Points& line, const Box& box);

/// Without the points that are nearer than `distance` to the line through the others (Douglas and Peucker 1973).
Points simplified(const Points& line, double distance);

/// The drawn parts, of lengths dash[0], dash[2], ... along the line, with spaces of dash[1], dash[3], ... between them.
std::vector<Points> dashed(const Points& line, const std::vector<double>& dash);

/// The corners of a marker's outline around (0, 0), of a disc 32; of kCross and kPlus none: they are marker_lines().
Points marker_corners(Marker shape, double size);
std::vector<Points> marker_lines(Marker shape, double size);

}  // namespace thtrain
