// How a direct kernel of the gradient to the filters cuts its work.
#pragma once

#include "compiler/cpu/conv/direct_weights.h"
#include "compiler/cpu/conv/tiles.h"

namespace thtrain {

/// How the lengths are cut. Everything follows from lengths, tiling and the width of vectors.
struct WeightsPlan {
  int lanes;
  int64_t block, blocks;         // filters of a block, blocks of a group
  bool blocks_inside;            // each chunk is read by all blocks in turn: their sums are found in the second cache
  int64_t vectors;               // of a block: over filters those of filters, over rows one for each filter
  Tiles taps;                    // along a row
  int64_t channels_of_tile;      // 1 where a row of taps fills the accumulators
  int64_t rows, chunk, chunks;   // rows of a result, of a chunk; chunks of an image
  int64_t channel_parts, parts;  // into which channels and chunks of all images are divided
  int64_t channels_of_part, chunks_of_part;

  WeightsPlan(const WeightTiling& tiling, const Convolution& c, int lanes);

  /// Of the transposed rows of a chunk, in whole vectors.
  int64_t positions_of_chunk(const Convolution& c) const { return ceil_div(chunk * c.axes[2].out, lanes) * lanes; }

  /// Sums of one part, in elements: [group][block][channel][tap][filter of the block, or filter and lane].
  int64_t sums(const Convolution& c, const WeightTiling& t) const {
    return c.groups * blocks * c.channels() * c.taps() * block * (t.over_filters ? 1 : lanes);
  }
};

/// Where a position reads the element of the same position alone, images and gradients are interchangeable. Vectors
/// hold what is transposed first: the channels instead of the filters, where these are more and need not be read twice?
bool exchanges(const Convolution& c, const WeightTiling& tiling, int lanes);
/// The convolution that the tiling's kernel computes: where a position reads the element of the same position alone,
/// with rows of another length, and with channels and filters exchanged if the tiling exchanges them.
Convolution as_computed(Convolution c, const WeightTiling& tiling, int lanes);

/// Is one of `count` taps from k on, of that position of a row, on a zero?
bool is_over_zeros(const CorrelationAxis& width, int64_t position, int64_t k, int64_t count);

}  // namespace thtrain
