// How Winograd's convolutions cut images into tiles and channels into blocks: what the plans of the passes share.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

constexpr int64_t kWinogradTaps = 3;

/// What is transformed: `n` images with height x width positions, and the columns of the products' right operand:
/// outputs, or filters.
struct WinogradLengths {
  DType dtype;
  int64_t n, height, width, columns;
};

/// Everything follows from lengths and the width of vectors.
struct WinogradPlan {
  int64_t tile, products, lanes, size;  // size: bytes of an element
  int64_t rows_of_image, row, rows;     // rows of tiles of an image, tiles of a row; rows of all images
  int64_t vectors, block, blocks;       // vectors of a block of columns, columns of a block; blocks
  int64_t sums;                         // rows of the accumulators, of `vectors` vectors each
  bool is_whole = false;                // the products' operands are of all tiles, else of a chunk
  int64_t piece = 1, pieces = 1;        // tiles of a piece of a row, pieces of a row
  int64_t chunk_rows = 1, chunks = 1;   // of pieces of rows

  WinogradPlan(const WinogradLengths& l, int64_t tile, const kernel::Target& target);

  int64_t all_tiles() const { return rows * row; }
  /// In whole vectors.
  int64_t rounded(int64_t channels) const;
  /// Elements, made an odd number of cache lines: what lies at the same position of each product falls into different
  /// sets of a cache.
  int64_t spread(int64_t elements) const;
  /// Sets is_whole, and the pieces. Of a product's operands a tile has `of_chunk` elements in a chunk, and `of_all`
  /// where they are of all tiles; `again` elements are read for each chunk.
  void cut_pieces(int64_t of_chunk, int64_t of_all, int64_t again);
  /// Sets the chunks: of `of_chunk` as above, of at most `most_rows` rows.
  void cut_chunks(int64_t of_chunk, int64_t most_rows);
  /// Parts of a kernel over pieces of rows that one thread takes at least, with so many elements of a tile.
  int64_t grain(int64_t of_tile) const;
};

/// An operand of the products: of a chunk, on the stack, or of all tiles.
struct WinogradPosition {
  std::string array;
  std::optional<kernel::Operand> operand;
};

}  // namespace thtrain
