#include "compiler/cpu/conv/direct_plan.h"

#include <algorithm>
#include <cmath>

#include "compiler/cpu/conv/direct_results.h"
#include "compiler/cpu/conv/tiles.h"

namespace thtrain {
namespace {

constexpr int64_t kDirectStackBytes = 256 << 10;
constexpr int64_t kMostBorders = 1024;  // of the bodies of all tiles with taps on zeros

int vectors_of_filters(const DirectTiling& t, const Correlation& c, int lanes) {
  return static_cast<int>(even_part(ceil_div(c.outputs, lanes), t.vectors));
}

// Multiply-adds of the tiles that need code of their own, to leave out taps.
int64_t work_of_borders(const DirectTiling& t, const CorrelationAxis& width, int64_t vectors) {
  int64_t out = 0;
  for (int64_t phase = 0; phase < std::min(width.phases, width.out); ++phase)
    Tiles(width.positions_of(phase), t.tile).each([&](int64_t tile, int64_t first, int64_t last) {
      for (int64_t x = first; x < last && out <= kMostBorders; x += tile)
        if (has_zeros(width, phase, x, tile)) out += tile * vectors * width.taps_of(phase).count;
    });
  return out;
}

// What a position reads is the element of the same position: rows are any run of them.
bool is_by_element(const Correlation& c) {
  return std::all_of(c.axes.begin(), c.axes.end(), [](const CorrelationAxis& axis) {
    return axis.kernel == 1 && axis.out == axis.in && axis.padded == axis.in && axis.before == 0 && axis.phases == 1;
  });
}

Correlation with_other_rows(Correlation c, const DirectTiling& t, int lanes) {
  const int64_t best =
      row_of_positions(c.positions(), c.axes[2].out, t.over_filters ? t.tile : int64_t{t.vectors} * lanes);
  const int64_t rows = c.positions() / best;
  c.axes = {
      CorrelationAxis{1, 1, 1, 1, 1, 1, 1, 0}, {rows, rows, rows, 1, 1, 1, 1, 0}, {best, best, best, 1, 1, 1, 1, 0}};
  return c;
}

}  // namespace

int64_t row_of_positions(int64_t positions, int64_t width, int64_t tile) {
  constexpr int64_t kMost = 256;
  constexpr double kGood = 64, kOfDistance = 0.02;  // for each factor of two
  auto cost = [&](int64_t length) {
    return static_cast<double>(ceil_div(length, tile) * tile) / static_cast<double>(length) *
           (1 + kOfDistance * std::fabs(std::log2(static_cast<double>(length) / kGood)));
  };
  int64_t best = width;
  for (int64_t length = 2; length <= std::min(positions, kMost); ++length)
    if (positions % length == 0 && cost(length) < cost(best)) best = length;
  return best;
}

int64_t block_of(const DirectTiling& t, const Correlation& c, int lanes) {
  if (t.over_filters) return int64_t{vectors_of_filters(t, c, lanes)} * lanes;
  return even_part(c.outputs, t.tile);
}

bool has_zeros(const CorrelationAxis& width, int64_t phase, int64_t x, int64_t tile) {
  const PhaseTaps taps = width.taps_of(phase);
  for (int64_t p = x; p < x + tile; ++p)
    for (int64_t k = 0; k < taps.count; ++k)
      if (width.falls_on_zero(p * width.phases + phase, taps.first + k * taps.step)) return true;
  return false;
}

bool takes_blocks_first(const Correlation& c) {
  constexpr int64_t kNearBytes = 512 << 10;  // half of a second cache of 1 MiB
  const int64_t size = static_cast<int64_t>(size_of(c.dtype));
  return c.outputs * c.inputs * c.taps() * size <= kNearBytes && c.inputs * c.stored_pixels() * size > kNearBytes;
}

std::string name_of(const DirectTiling& t) {
  return name_of_tiling(t.over_filters, t.tile, t.vectors);
}

std::optional<DirectTiling> direct_tiling_named(std::string_view name) {
  const auto parts = tiling_named(name);
  if (!parts) return std::nullopt;
  return DirectTiling{parts->over_filters, parts->first, parts->second};
}

bool is_possible(const DirectTiling& t, const Correlation& c, const kernel::Target& target, bool has_epilogue,
                 const PositionWindows* windows) {
  // Accumulators, the vectors that all of a tile share, and one that is broadcast.
  if (t.tile * t.vectors + t.vectors + 1 > target.registers()) return false;
  if (!t.over_filters && c.axes[2].stride != 1) return false;
  const int lanes = target.lanes_of(c.dtype);
  return DirectResults::fewest_bytes(c, block_of(t, c, lanes), !t.over_filters, lanes, has_epilogue, windows) <=
         kDirectStackBytes;
}

double rows_computed(const DirectTiling& t, const Correlation& c, const kernel::Target& target,
                     const PositionWindows& windows) {
  const int lanes = target.lanes_of(c.dtype);
  const PooledAxis& axis = windows.rows();
  const int64_t rows = DirectResults::rows_of_part(c, block_of(t, c, lanes), !t.over_filters, lanes, &windows),
                whole = axis.windows / rows, rest = axis.windows % rows;
  const int64_t computed = whole * axis.covered(rows) + (rest > 0 ? axis.covered(rest) : 0);
  return static_cast<double>(computed) / static_cast<double>(axis.positions);
}

Correlation correlation_read_by(const DirectTiling& t, Correlation c, const kernel::Target& target, bool may_merge) {
  const int lanes = target.lanes_of(c.dtype);
  if (may_merge && is_by_element(c)) return with_other_rows(c, t, lanes);
  for (CorrelationAxis& axis : c.axes)
    if (&axis != &c.axes[2]) axis.is_bare = axis.gap == 1 || axis.dilation == 1;
  c.axes[2].is_bare = t.over_filters && work_of_borders(t, c.axes[2], vectors_of_filters(t, c, lanes)) <= kMostBorders;
  return c;
}

int64_t workspace_of(const DirectTiling& t, const Correlation& c, const kernel::Target& target) {
  return prepared_bytes(correlation_read_by(t, c, target), block_of(t, c, target.lanes_of(c.dtype)));
}

}  // namespace thtrain
