#include "compiler/ops/linalg/gemm_tiling.h"

#include <algorithm>

#include "compiler/base/ceil_div.h"
#include "compiler/ops/key_reader.h"

namespace thtrain {

constexpr int64_t kPanelBytes = 256 << 10, kAllPanelsBytes = 512 << 10;  // on the stack of a thread

// Accumulators, one row of B, one element of A.
static int registers_of(const GemmTiling& t) {
  return t.rows * t.vectors + t.vectors + 1;
}

// Of a tile's row in the panel.
static int64_t row_bytes(int64_t vectors, const MatrixProduct& p, const kernel::Target& target) {
  return vectors * target.lanes_of(p.dtype) * static_cast<int64_t>(size_of(p.dtype));
}

int64_t rows_of_block(const GemmTiling& t, const MatrixProduct& p, int64_t vectors, const kernel::Target& target) {
  const int64_t most = std::min<int64_t>(t.rows * t.vectors / vectors, kMaxBlockRows);
  const int64_t rows = ceil_div(p.m, ceil_div(p.m, most));
  // Blocks of one height are half the code, and fewer rows cost little: a quarter of them, or where the first cache
  // holds the panel or the tile is a small part of the product, as long as enough sums are left for multiply-adds not
  // to wait for each other.
  constexpr int64_t kEnoughSums = 15;
  const bool is_near = 2 * std::min(t.depth, p.k) * row_bytes(vectors, p, target) <= target.first_cache_bytes;
  const bool is_last_of_many = vectors < t.vectors && p.n >= 4 * t.vectors * target.lanes_of(p.dtype);
  const bool is_cheap = is_near || is_last_of_many;
  for (int64_t fewer = rows; 4 * fewer >= 3 * rows || (is_cheap && fewer * vectors >= kEnoughSums); --fewer)
    if (p.m % fewer == 0) return fewer;
  return rows;
}

bool is_one_slab(const GemmTiling& t, const MatrixProduct& p) {
  return t.by_rows || t.depth >= p.k;
}

int64_t summed_rows(const GemmTiling& t, const MatrixProduct& p) {
  return is_one_slab(t, p) ? t.rows : p.m;
}

std::string name_of(const GemmTiling& tiling) {
  if (tiling.by_rows) return str("rows ", tiling.rows, "x", tiling.vectors);
  return str("tile ", tiling.rows, "x", tiling.vectors, "x", tiling.depth);
}

std::optional<GemmTiling> gemm_tiling_named(std::string_view name) {
  constexpr int64_t kMost = 1 << 20;
  KeyReader reader(name);
  GemmTiling out{.depth = kMost, .by_rows = reader.take("rows ")};
  if (!out.by_rows && !reader.take("tile ")) return std::nullopt;
  if (!reader.numbers({&out.rows, &out.vectors}, 1, kMost)) return std::nullopt;
  if (!out.by_rows && (!reader.take("x") || !reader.number(out.depth, 1, kMost))) return std::nullopt;
  return reader.is_at_end() ? std::optional(out) : std::nullopt;
}

bool is_possible(const GemmTiling& tiling, const MatrixProduct& p, const kernel::Target& target, bool has_epilogue) {
  if (!has_tilings(p.dtype) || registers_of(tiling) > target.registers() || tiling.rows > kMaxBlockRows) return false;
  const int64_t tile_bytes = row_bytes(tiling.vectors, p, target);
  if (has_epilogue && summed_rows(tiling, p) * tile_bytes > kPanelBytes) return false;
  if (!tiling.by_rows) return tiling.depth * tile_bytes <= kPanelBytes;
  return p.k * ceil_div(p.n * static_cast<int64_t>(size_of(p.dtype)), tile_bytes) * tile_bytes <= kAllPanelsBytes;
}

}  // namespace thtrain
