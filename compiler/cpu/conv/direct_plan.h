// How a direct kernel of the forward pass or the gradient to the images cuts its work.
#pragma once

#include "compiler/cpu/conv/direct.h"

namespace thtrain {

/// Filters that the tiling computes at a time.
int64_t block_of(const DirectTiling& tiling, const Correlation& c, int lanes);
/// Is some tap of positions x to x + tile of a row's phase on a zero?
bool has_zeros(const CorrelationAxis& width, int64_t phase, int64_t x, int64_t tile);

/// Are filters found in the second cache, and images not? Then each part of an image is read by all filters in turn.
bool takes_blocks_first(const Correlation& c);

/// The length of rows into which `positions` are divided where those need not be the image's: one that divides them,
/// that runs of `tile` positions fill, near to what is found to be good; or `width`.
int64_t row_of_positions(int64_t positions, int64_t width, int64_t tile);

}  // namespace thtrain
