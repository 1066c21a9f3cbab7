// Windows of images as rows of a matrix, and back.
#pragma once

#include <optional>
#include <utility>

#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- images --------------------------------------------------------------------------------------------------------

/// Which windows of an image there are, as in Theano's images2neibs. kValid: those inside, and the last one ends where
/// the image ends. kIgnoreBorders: those inside; what is left over at the end is not read. kWrapCentered: one around
/// every step-th element from the first on, of an odd number of rows and columns, in an image that goes on
/// periodically. kHalf and kFull: as kValid, with half a window (rounded down) or a window less one of zeros on every
/// side.
enum class NeighbourMode { kValid, kIgnoreBorders, kWrapCentered, kHalf, kFull };

/// Rows and columns.
using RowsColumns = std::pair<int64_t, int64_t>;

/// The windows of images [N, C, H, W] as rows of a matrix [windows, rows * columns], in the order of image, channel,
/// and the window's row and column; within a row in that of the window's rows. `step`: from a window to the next one
/// (none: the window's own lengths, so that windows do not overlap). dtypes: any. One copy; the gradient adds up what
/// windows share. UserError: no 4 axes, a window or step below 1, windows that do not fit the image (now, or in a
/// call).
Expr images_to_neighbours(const Operand& images, RowsColumns window, std::optional<RowsColumns> step = {},
                          NeighbourMode mode = NeighbourMode::kValid);

/// The images of the lengths [N, C, H, W] of which `neighbours` are the windows, as images_to_neighbours gives them
/// without a step: kValid, or kIgnoreBorders, where what is left over is 0. UserError: another mode, no matrix, lengths
/// that do not fit.
Expr neighbours_to_images(const Operand& neighbours, RowsColumns window, const LengthList& lengths,
                          NeighbourMode mode = NeighbourMode::kValid);

}  // namespace thtrain
