#include "compiler/cpu/conv/winograd_plan.h"

#include <algorithm>

#include "compiler/cpu/conv/tiles.h"

namespace thtrain {
namespace {

constexpr int64_t kProductChunkBytes = 768 << 10;  // of the products' operands, on the stack
constexpr int64_t kStripBytes = 64 << 10;

int64_t tiles_of_chunk(const WinogradPlan& plan, int64_t of_chunk) {
  return kProductChunkBytes / (plan.products * plan.size * of_chunk);
}

}  // namespace

WinogradPlan::WinogradPlan(const WinogradLengths& l, int64_t tile_, const kernel::Target& target)
    : tile(tile_),
      products((tile + kWinogradTaps - 1) * (tile + kWinogradTaps - 1)),
      lanes(target.lanes_of(l.dtype)),
      size(static_cast<int64_t>(size_of(l.dtype))),
      rows_of_image(ceil_div(l.height, tile)),
      row(ceil_div(l.width, tile)),
      rows(l.n * rows_of_image) {
  const int64_t most_sums = target.registers() * 3 / 4;
  vectors = even_part(ceil_div(l.columns, lanes), target.registers() / 8);
  block = vectors * lanes;
  blocks = ceil_div(l.columns, block);
  sums = std::min<int64_t>(most_sums / vectors, 12);
}

int64_t WinogradPlan::rounded(int64_t channels) const {
  return ceil_div(channels, lanes) * lanes;
}

int64_t WinogradPlan::spread(int64_t elements) const {
  constexpr int64_t kLine = 64;
  return (ceil_div(elements * size, kLine) | 1) * kLine / size;
}

void WinogradPlan::cut_pieces(int64_t of_chunk, int64_t of_all, int64_t again) {
  // Elements that are read and written again: `again` for each chunk, or else the operands, which are further away.
  constexpr double kFurther = 2.5;
  const int64_t most = tiles_of_chunk(*this, of_chunk);
  const double of_chunks = static_cast<double>(again),
               of_tiles = 4.0 * static_cast<double>(all_tiles()) * static_cast<double>(of_all),
               reads = static_cast<double>(ceil_div(all_tiles(), std::max<int64_t>(1, most)));
  is_whole = all_tiles() <= most || of_chunks * reads > kFurther * (of_chunks + of_tiles);
  const int64_t of_strip = kStripBytes / ((tile + kWinogradTaps - 1) * tile * lanes * size);
  piece = even_part(row, std::max<int64_t>(1, is_whole ? of_strip : std::min(of_strip, most)));
  pieces = ceil_div(row, piece);
}

void WinogradPlan::cut_chunks(int64_t of_chunk, int64_t most_rows) {
  chunk_rows = 1;
  if (!is_whole && pieces == 1) chunk_rows = std::clamp<int64_t>(tiles_of_chunk(*this, of_chunk) / row, 1, most_rows);
  chunk_rows = even_part(rows, chunk_rows);
  chunks = ceil_div(rows, chunk_rows) * pieces;
}

int64_t WinogradPlan::grain(int64_t of_tile) const {
  return std::max<int64_t>(1, kProductChunkBytes / (piece * products * size * of_tile));
}

}  // namespace thtrain
