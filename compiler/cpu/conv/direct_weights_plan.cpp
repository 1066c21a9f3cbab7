#include "compiler/cpu/conv/direct_weights_plan.h"

#include <algorithm>

#include "compiler/cpu/conv/direct_plan.h"

namespace thtrain {
namespace {

constexpr int64_t kGradientChunkBytes = 32 << 10;  // of the gradient's rows that a chunk has
constexpr int64_t kIterationsOfChunk = 64;         // over which accumulators stay in registers, if not more
constexpr int64_t kWeightParts = 16;               // that threads share, where there is enough work
constexpr int64_t kWorkOfPart = 1 << 20;           // multiply-adds
constexpr int64_t kWeightSumsBytes = 4 << 20;      // of all parts, if there is more than one
constexpr int64_t kWeightStackBytes = 512 << 10;
constexpr int64_t kMostWeightBorders = 1024;  // multiply-adds of the code for positions with taps on zeros
constexpr int64_t kNearSums = 256 << 10, kNearImage = 512 << 10;  // found in a second cache of 1 MiB with others

// A position reads the element of the same position alone.
bool reads_one_element(const Convolution& c) {
  return std::all_of(c.axes.begin(), c.axes.end(), [](const ConvAxis& axis) {
    return axis.kernel == 1 && axis.out == axis.in && axis.before == 0 && axis.after == 0;
  });
}

}  // namespace

WeightsPlan::WeightsPlan(const WeightTiling& t, const Convolution& c, int lanes_)
    : lanes(lanes_), taps(c.axes[2].kernel, t.taps) {
  const int64_t filters = c.filters();
  if (t.over_filters) {
    vectors = even_part(ceil_div(filters, lanes), t.width);
    block = vectors * lanes;
  } else {
    block = vectors = even_part(filters, t.width);
  }
  blocks = ceil_div(filters, block);
  const int64_t size = static_cast<int64_t>(size_of(c.dtype));
  blocks_inside =
      blocks > 1 && sums(c, t) / c.groups * size <= kNearSums && c.channels() * c.pixels() * size > kNearImage;
  channels_of_tile = taps.count > 1 ? 1 : even_part(c.channels(), std::max<int64_t>(1, t.taps / c.axes[2].kernel));
  rows = c.axes[0].out * c.axes[1].out;
  const int64_t width = c.axes[2].out, iterations = t.over_filters ? width : ceil_div(width, lanes);
  const int64_t row_bytes = width * block * static_cast<int64_t>(size_of(c.dtype));
  chunk =
      std::clamp<int64_t>(std::max(kGradientChunkBytes / row_bytes, ceil_div(kIterationsOfChunk, iterations)), 1, rows);
  chunk = even_part(rows, chunk);
  chunks = ceil_div(rows, chunk);
  const double work = c.flops() / 2;
  const int64_t wanted =
      std::clamp<int64_t>(static_cast<int64_t>(work / static_cast<double>(kWorkOfPart)), 1, kWeightParts);
  const int64_t tiles = ceil_div(c.channels(), channels_of_tile),
                blocks_of_all = c.groups * (blocks_inside ? 1 : blocks);
  const int64_t part_bytes = sums(c, t) * static_cast<int64_t>(size_of(c.dtype));
  parts =
      std::min({c.n * chunks, ceil_div(wanted, blocks_of_all), std::max<int64_t>(1, kWeightSumsBytes / part_bytes)});
  chunks_of_part = ceil_div(c.n * chunks, parts);
  parts = ceil_div(c.n * chunks, chunks_of_part);
  channel_parts = std::min(tiles, ceil_div(wanted, blocks_of_all * parts));
  channels_of_part = ceil_div(tiles, channel_parts) * channels_of_tile;
  channel_parts = ceil_div(c.channels(), channels_of_part);
}

bool exchanges(const Convolution& c, const WeightTiling& t, int lanes) {
  const int64_t channels = c.channels(), filters = c.filters();
  auto in_lanes = [&](int64_t n) { return ceil_div(n, lanes) * lanes; };
  if (!reads_one_element(c) || !t.over_filters || channels >= filters ||
      in_lanes(channels) * filters > in_lanes(filters) * channels)
    return false;
  // What is broadcast is the larger operand then: it is to be read once.
  Convolution exchanged = c;
  std::swap(exchanged.c, exchanged.f);
  const WeightsPlan plan(t, exchanged, lanes);
  return plan.blocks == 1 || plan.blocks_inside;
}

Convolution as_computed(Convolution c, const WeightTiling& t, int lanes) {
  if (!reads_one_element(c)) return c;
  if (exchanges(c, t, lanes)) std::swap(c.c, c.f);
  const int64_t width = row_of_positions(c.positions(), c.axes[2].out, t.over_filters ? 1 : lanes),
                rows = c.positions() / width;
  c.axes = {ConvAxis{}, ConvAxis{.in = rows, .out = rows}, ConvAxis{.in = width, .out = width}};
  return c;
}

bool is_over_zeros(const CorrelationAxis& width, int64_t position, int64_t k, int64_t count) {
  for (int64_t tap = k; tap < k + count; ++tap)
    if (width.falls_on_zero(position, tap)) return true;
  return false;
}

std::string name_of(const WeightTiling& t) {
  return name_of_tiling(t.over_filters, t.taps, t.width);
}

std::optional<WeightTiling> weight_tiling_named(std::string_view name) {
  const auto parts = tiling_named(name);
  if (!parts) return std::nullopt;
  return WeightTiling{parts->over_filters, parts->first, parts->second};
}

bool is_possible(const WeightTiling& t, const Convolution& convolution, const kernel::Target& target) {
  const Convolution c = as_computed(convolution, t, target.lanes_of(convolution.dtype));
  if (t.taps * t.width + t.width + 1 > target.registers()) return false;
  if (!t.over_filters) return c.axes[2].stride == 1;
  const WeightsPlan plan(t, c, target.lanes_of(c.dtype));
  return plan.positions_of_chunk(c) * plan.block * static_cast<int64_t>(size_of(c.dtype)) <= kWeightStackBytes;
}

Correlation images_read_by(const WeightTiling& t, Convolution c, const kernel::Target& target) {
  c.pass = ConvPass::kForward;
  Correlation out = correlation_of(c);
  out.axes[0].is_bare = out.axes[1].is_bare = true;
  CorrelationAxis& width = out.axes[2];
  const WeightsPlan plan(t, c, target.lanes_of(c.dtype));
  int64_t work = 0;  // of positions that need code of their own
  plan.taps.each([&](int64_t tile, int64_t from, int64_t to) {
    for (int64_t k = from; k < to; k += tile)
      for (int64_t x = 0; x < width.out && work <= kMostWeightBorders; ++x)
        if (is_over_zeros(width, x, k, tile)) work += tile * plan.channels_of_tile * plan.vectors;
  });
  width.is_bare = t.over_filters && work <= kMostWeightBorders;
  return out;
}

int64_t workspace_of(const WeightTiling& t, const Convolution& convolution, const kernel::Target& target) {
  const int64_t size = static_cast<int64_t>(size_of(convolution.dtype));
  const Convolution c = as_computed(convolution, t, target.lanes_of(convolution.dtype));
  const WeightsPlan plan(t, c, target.lanes_of(convolution.dtype));
  return padded_bytes(images_read_by(t, c, target)) + plan.parts * plan.sums(c, t) * size;
}

}  // namespace thtrain
