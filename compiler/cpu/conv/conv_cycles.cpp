#include "compiler/cpu/conv/conv_cycles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/cpu/conv/direct_plan.h"
#include "compiler/cpu/conv/direct_weights_plan.h"
#include "compiler/cpu/conv/patches.h"
#include "compiler/cpu/conv/tiles.h"
#include "compiler/kernel/tile_cycles.h"
#include "compiler/ops/linalg/product_cycles.h"

namespace thtrain {
namespace {

using kernel::Target;

constexpr double kLine = 64;

// Planes that processors follow at a time.
constexpr int64_t kStreams = 16;

// Pages that the first table has.
constexpr double kPage = 4096, kPages = 72;

// Instructions of a loop for one row of taps of one channel; processors begin five of them in a cycle, or six.
constexpr double kOfLoop = 8, kOfInstruction = 0.2;

double up(double a, double b) {
  return std::ceil(a / b);
}

double number(int64_t n) {
  return static_cast<double>(n);
}

double size_of_element(DType dtype) {
  return static_cast<double>(size_of(dtype));
}

double lanes_of(DType dtype, const Target& target) {
  return static_cast<double>(target.lanes_of(dtype));
}

// What was measured, in cycles.
struct Rates {
  const Target& target;
  const kernel::KernelRates& r = target.rates;
  double multiply_add = r.multiply_add / 100.0, sum = r.sum / 100.0, load = r.load / 100.0,
         crossing_load = r.crossing_load / 100.0, shuffle = r.shuffle / 100.0,
         // Lines: of what is found in the second cache; of what is copied in it or beyond; of images, which come from
         // further away; of either where rows are fetched ahead; and in memory, side by side or apart.
      second = r.second_line / 100.0, copied = r.copied_line / 100.0, third = r.third_line / 100.0,
         fetched_second = r.fetched_second_line / 100.0, fetched_third = r.fetched_third_line / 100.0,
         memory = r.memory_line / 100.0, apart_memory = r.apart_memory_line / 100.0;
  // An element: two of them are loaded in a cycle also where a vector takes two loads.
  double element = std::min(load, 0.5);
  // A sum that is loaded and stored with its address.
  double sum_in_memory = 3 * load;
  // Before the first multiply-add of a tile has its operands, and after its last one.
  double of_tile = 2.5 * sum;

  explicit Rates(const Target& on) : target(on) {}

  double throughput(double uses, double vectors, bool crosses = false) const {
    return std::max(uses * vectors * multiply_add, uses * load + kernel::vector_loads(target, uses, vectors, crosses) *
                                                                     (crosses ? crossing_load : load));
  }
  // Until a tile's sums can be added to again: of few steps a processor begins the next tile meanwhile, as it works on
  // so many instructions at a time.
  double waiting(double steps, double instructions) const {
    constexpr double kAtWork = 320;
    return sum / std::max(1.0, kAtWork / (steps * instructions));
  }
  // One of so many steps of a tile of sums: those that wait for each other too. Where just as many are added to as keep
  // the units busy, some are late: nine sums of AVX2 take 5 % longer than their multiply-adds.
  double tile(double uses, double vectors, bool crosses = false,
              double steps = std::numeric_limits<double>::infinity()) const {
    constexpr double kOfWaiting = 1.2;
    return std::max(throughput(uses, vectors, crosses), kOfWaiting * waiting(steps, uses * vectors + uses + vectors));
  }
  // A row of taps of a tile, each of which takes `of_tap` cycles: no less than its instructions take to begin.
  double row_of_taps(double taps, double uses, double vectors, double of_tap) const {
    return std::max(taps * of_tap, (taps * (uses * vectors + uses + vectors) + kOfLoop) * kOfInstruction);
  }
  // A vector of a square that is transposed: its shuffles and its store; and with its load, where that waits for sums.
  double shuffles(double lanes) const { return (std::log2(lanes) + 1) * shuffle; }
  double transposing(double lanes) const { return std::log2(lanes) * shuffle + 3 * load; }
};

// Of the taps of an axis, the share that falls on elements.
double share_of_elements(const CorrelationAxis& axis) {
  int64_t elements = 0;
  for (int64_t position = 0; position < axis.out; ++position)
    for (int64_t k = 0; k < axis.kernel; ++k) elements += !axis.falls_on_zero(position, k);
  return number(elements) / number(axis.out * axis.kernel);
}

double padding_cycles(const Correlation& c, const Rates& rates) {
  return number(padded_bytes(c)) / kLine * rates.copied;
}

double lines_of_images(const Correlation& c) {
  double elements = number(c.n * c.groups * c.inputs);
  // Some rows are under no tap.
  for (const CorrelationAxis& axis : c.axes)
    elements *= number(axis.in) * (&axis == &c.axes[2] ? 1 : std::min(1.0, number(axis.kernel) / number(axis.stride)));
  return elements * size_of_element(c.dtype) / kLine;
}

// Bytes of the images and of the results.
double bytes_of(const Convolution& c) {
  return number(c.n * (c.c * c.pixels() + c.f * c.positions())) * size_of_element(c.dtype);
}
double bytes_of(const Correlation& c) {
  const double pixels = number(c.axes[0].in * c.axes[1].in * c.axes[2].in);
  return number(c.n * c.groups) * (number(c.inputs) * pixels + number(c.outputs * c.positions())) *
         size_of_element(c.dtype);
}

// Lines of images, which are fetched ahead, and of results, which are read before they are written: in memory, or in
// the third cache. Of results in many planes processors do not foresee the next lines.
double waiting_cycles(const Correlation& c, const Rates& rates, int64_t result_planes) {
  const double images = lines_of_images(c), size = size_of_element(c.dtype),
               results = number(c.n * c.groups * c.outputs * c.positions()) * size / kLine;
  if (rates.target.is_in_memory(bytes_of(c)))
    return images * rates.memory + results * (result_planes > kStreams ? rates.apart_memory : 1.5 * rates.memory);
  const bool is_far = results * kLine > number(rates.target.second_cache_bytes);
  return images * (c.inputs > kFewStreams ? rates.fetched_third : rates.third) + (is_far ? results * rates.copied : 0);
}

// What lines of results cost where a tile takes several of each plane, against one of each.
double far_apart(int64_t vectors, const Correlation& c, const Target& target) {
  return 1 + 0.15 * std::max(0.0, number(vectors) * lanes_of(c.dtype, target) * size_of_element(c.dtype) / kLine - 1);
}

// Of a kernel that fetches ahead: while it waits for memory it computes, but not all of the time.
double with_memory(double computing, double waiting) {
  return std::max(computing, waiting) + std::min(computing, waiting) / 2;
}

// Filters in blocks, one element after the other.
double filter_cycles(const Correlation& c, int64_t block, const Rates& rates) {
  return number(c.groups * ceil_div(c.outputs, block) * block * c.inputs * c.taps()) *
         (rates.element + rates.shuffle / 2);
}

// ---- forward, and the gradient to the images

struct DirectCycles {
  const DirectTiling& t;
  const Correlation& c;
  const Target& target;
  const Rates rates = Rates(target);
  const CorrelationAxis& width = c.axes[2];
  double lanes = lanes_of(c.dtype, target), size = size_of_element(c.dtype);
  double rows = number(c.n * c.groups * c.axes[0].out * c.axes[1].out);  // of all images
  // Rows of taps that one row of positions has, less those that fall on zeros; taps of other rows are left out.
  double lines = number(c.inputs * c.axes[0].kernel * c.axes[1].kernel) * share_of_elements(c.axes[0]) *
                 share_of_elements(c.axes[1]);

  // body(phase, taps along the row, positions) for each phase
  template <class Body>
  void each_phase(Body body) const {
    for (int64_t phase = 0; phase < std::min(width.phases, width.out); ++phase)
      body(phase, number(width.taps_of(phase).count), number(width.positions_of(phase)));
  }

  // Cycles of the taps of one row of one channel, for all tiles of a phase. Those of a border have fewer multiply-adds,
  // and no fewer to the sum with the most.
  double tiles_of_filters(int64_t phase, double vectors) const {
    const PhaseTaps taps = width.taps_of(phase);
    double out = 0;
    Tiles(width.positions_of(phase), t.tile).each([&](int64_t tile, int64_t first, int64_t last) {
      for (int64_t x = first; x < last; x += tile) {
        int64_t most = 0;
        double of_taps = 0, uses = 0;
        for (int64_t k = 0; k < taps.count; ++k) {
          int64_t positions = 0;
          for (int64_t p = x; p < x + tile; ++p)
            positions += !width.is_bare || !width.falls_on_zero(p * width.phases + phase, taps.first + k * taps.step);
          of_taps += rates.throughput(number(positions), vectors);
          uses += number(positions);
        }
        for (int64_t p = x; p < x + tile; ++p) {
          int64_t of_position = 0;
          for (int64_t k = 0; k < taps.count; ++k)
            of_position += !width.is_bare || !width.falls_on_zero(p * width.phases + phase, taps.first + k * taps.step);
          most = std::max(most, of_position);
        }
        out += std::max(
            rates.row_of_taps(1, uses, vectors, of_taps),
            rates.waiting(lines * number(taps.count), number(tile) * vectors + number(tile) + vectors) * number(most));
      }
    });
    return out;
  }

  static constexpr double kCacheBytes = 16 << 10;  // of a slab of filters, and of a block of rows' sums

  // Lines of the third cache in the time until a page that is not in the first table can be written to.
  static constexpr double kOfOtherPage = 50 / 14.0;

  // Over filters: vectors of a block.
  double vectors_of_filters() const {
    return number(even_part(static_cast<int64_t>(up(number(c.outputs), lanes)), t.vectors));
  }
  // Over filters: how often the sums of a block are added to.
  double slabs() const {
    const double bytes = number(c.taps()) * vectors_of_filters() * lanes * size;
    return up(number(c.inputs), std::clamp(std::floor(kCacheBytes / bytes), 1.0, number(c.inputs)));
  }

  double over_filters() const {
    const double vectors = vectors_of_filters(), blocks = up(number(c.outputs), vectors * lanes),
                 all = number(width.out), slabs = this->slabs();
    double row = vectors * all * rates.transposing(lanes);  // on its way out
    each_phase([&](int64_t phase, double taps, double positions) {
      const double tiles = up(positions, t.tile), tile = positions / tiles;
      // Sums are loaded and stored for each slab.
      row += (taps > 0 ? lines * tiles_of_filters(phase, vectors) : 0) +
             tiles * (taps > 0 ? slabs : 1) * (tile * vectors * rates.sum_in_memory + rates.of_tile);
    });
    // Rows of the image: each row of taps reads them again where the first cache does not hold them all.
    const double lines_of_row = number(c.inputs * width.stored()) * size / kLine,
                 rows_of_taps = number(c.axes[0].kernel * c.axes[1].kernel),
                 again = lines_of_row * rows_of_taps * kLine > number(target.first_cache_bytes) ? rows_of_taps : 1;
    row += lines_of_row * again * (c.inputs > kFewStreams ? rates.fetched_second : rates.second);
    // Each filter's positions of a block of rows lie in a page of their own, if its positions fill one.
    const double of_page = kOfOtherPage * rates.third * std::min(1.0, number(c.positions()) * size / kPage),
                 most = std::floor(kCacheBytes / (all * vectors * lanes * size)),
                 rows_of_block = std::clamp(most, 1.0, number(c.axes[1].out));
    return rows * (blocks * row + number(c.outputs) / rows_of_block * of_page);
  }

  double over_rows() const {
    const double blocks = up(number(c.outputs), t.tile), filters = number(c.outputs) / blocks,
                 rows_of_taps = number(c.axes[0].kernel * c.axes[1].kernel),
                 bytes_of_row = rows_of_taps * number(width.stored()) * size, bytes = number(c.inputs) * bytes_of_row,
                 bytes_of_plane = number(c.stored_pixels()) * size, cache = number(target.first_cache_bytes);
    // What a row of positions reads again and again: is it found in the first cache, and its pages in the first table?
    // Of one row of taps nothing is read twice by one block of filters, and all of the image by the next.
    const bool has_pages = number(c.inputs) * std::min(bytes_of_plane, bytes_of_row + kPage) <= kPages * kPage,
               is_read_once = rows_of_taps == 1 && blocks == 1,
               is_of_image = rows_of_taps == 1 && !takes_blocks_first(c),
               is_near = is_read_once || (is_of_image ? number(c.inputs) * bytes_of_plane : bytes) <= 0.5 * cache;
    // Of many planes the newest row is fetched ahead. Multiply-adds hide a part of what lines cost.
    const double newest = is_near || c.inputs <= kFewStreams ? 0 : 1 / rows_of_taps, others = is_near ? 0 : 1 - newest,
                 of_fetched = newest * rates.fetched_second, of_newest = 0.45 * of_fetched,
                 of_line = others * (bytes > 0.9 * cache && !has_pages ? 3 : 0.75) * rates.second;
    double row = 0;
    each_phase([&](int64_t, double taps, double positions) {
      // A part of a vector without masks is put together in memory.
      const double all = up(positions, lanes),
                   of_part = positions < lanes && lanes * size < kLine ? 16 * rates.load : 0;
      Tiles(static_cast<int64_t>(all), t.vectors).each([&](int64_t vectors, int64_t first, int64_t last) {
        const double tiles = number((last - first) / vectors), v = number(vectors),
                     lines_of_tile = v * lanes * size / kLine,
                     of_taps =
                         rates.row_of_taps(taps, filters, v, rates.tile(filters, v, /*crosses=*/true, lines * taps)) +
                         taps * of_part;
        row += blocks * tiles * lines *
               (std::max(of_taps, (lines_of_tile + 0.5) * of_fetched) + std::ceil(lines_of_tile) * of_newest +
                (v + 1) * of_line);
      });
      // Positions of a phase are stored one by one.
      row += number(c.outputs) *
             (width.phases > 1 ? (2 * rates.element + rates.shuffle) * positions : 2 * rates.load * all);
    });
    return rows * row;
  }
};

}  // namespace

double expected_cycles(const DirectTiling& t, const Correlation& c, const Target& target) {
  const Correlation read = correlation_read_by(t, c, target);
  const DirectCycles direct{t, read, target};
  const int64_t block = block_of(t, read, target.lanes_of(c.dtype));
  return padding_cycles(read, direct.rates) + filter_cycles(read, block, direct.rates) +
         with_memory(t.over_filters ? direct.over_filters() : direct.over_rows(),
                     waiting_cycles(read, direct.rates, std::min(block, c.outputs)) *
                         (t.over_filters ? 1 : far_apart(t.vectors, c, target)));
}

double expected_cycles(const PlanesTiling& t, const Correlation& c, const Target& target) {
  const PlanesPlan plan(t, c, target.lanes_of(c.dtype));
  const Rates rates(target);
  const CorrelationAxis &height = c.axes[1], &width = c.axes[2];
  const double filters = t.filters, kernel = number(height.kernel), taps = number(width.kernel),
               tiles = up(number(plan.vectors), t.vectors), vectors = number(plan.vectors) / tiles,
               sums = filters * t.rows * vectors;
  // Of one channel: rows of the image that are under taps of all rows of a tile, and of some of them.
  double tile = 0;
  for (int64_t d = 0; d < t.rows + height.kernel - 1; ++d) {
    const double rows = number(std::min<int64_t>({d + 1, t.rows, height.kernel, t.rows + height.kernel - 1 - d}));
    // Most loads of the image cross a line. All taps of a row are in one piece of code, where loads are not repeated.
    tile += rates.row_of_taps(taps, filters * rows, vectors,
                              std::max(filters * rows * vectors * rates.multiply_add,
                                       filters * rows * rates.load + vectors * rates.crossing_load));
  }
  tile = std::max(tile, kernel * taps * rates.sum);
  tile *= share_of_elements(height);
  // Rows of a band are copied, and sums loaded and stored for each slab.
  const double copied = (number(plan.band) + kernel - 1) * (number(width.in) / number(plan.lanes) + 1) * 4 * rates.load;
  const double groups = up(number(plan.band), t.rows);
  const double band = number(c.inputs) * (groups * tiles * tile + copied) +
                      number(plan.slabs) * groups * tiles * (sums * rates.sum_in_memory + rates.of_tile);
  return filter_cycles(c, t.filters, rates) +
         with_memory(number(c.n * c.groups * plan.blocks * plan.bands) * band,
                     waiting_cycles(c, rates, t.filters) * far_apart(t.vectors, c, target));
}

double expected_gain_of_pooling(const DirectTiling& t, const Correlation& c, const PositionWindows& windows,
                                const Target& target) {
  const DirectCycles direct{t, c, target};
  const Rates& rates = direct.rates;
  const double of_transposing = 6 * rates.shuffle + 4 * rates.load;  // a line of sums, which is read and stored too
  const double filters = number(c.n * c.groups * c.outputs), size = size_of_element(c.dtype),
               lines = filters * number(c.positions()) * size / kLine,
               pooled = number(windows.rows().windows * windows.columns().windows) / number(c.positions());
  // The image is neither written nor read.
  const bool is_far = lines * kLine > number(std::max<int64_t>(target.second_cache_bytes, 1 << 20));
  double gain = lines * (is_far ? rates.third : rates.second);
  const double computed = rows_computed(t, c, target, windows);
  gain -= (computed - 1) * (t.over_filters ? direct.over_filters() : direct.over_rows());
  if (!t.over_filters) return gain;
  gain += lines * of_transposing * (1 - pooled);
  // Where windows share rows, the sums of a block may be found in the second cache only.
  const double bytes = direct.vectors_of_filters() * direct.lanes * number(c.positions()) * size;
  const bool shares_rows = windows.rows().stride < windows.rows().window;
  if (shares_rows && bytes > number(target.first_cache_bytes)) gain -= lines * direct.slabs() * rates.second;
  return gain;
}

double expected_cycles(const WeightTiling& t, const Convolution& convolution, const Target& target) {
  const Convolution c = as_computed(convolution, t, target.lanes_of(convolution.dtype));
  const WeightsPlan plan(t, c, target.lanes_of(c.dtype));
  const Correlation padded = images_read_by(t, c, target);
  const Rates rates(target);
  const double gradient = number(c.n * c.groups * c.filters() * c.positions()) * size_of_element(c.dtype);
  const bool is_gradient_far = gradient > number(target.second_cache_bytes);
  // Weights of many filters are written next to each other: in memory their lines lie apart.
  const double weights = number(c.groups * c.filters() * c.channels() * c.taps()),
               bytes_of_weights = weights * size_of_element(c.dtype),
               written = target.is_in_memory(bytes_of_weights) ? bytes_of_weights / kLine * rates.apart_memory : 0;
  const double moved =
      padding_cycles(padded, rates) + (is_gradient_far ? gradient / kLine * rates.fetched_third : 0) + written;
  const double lanes = lanes_of(c.dtype, target), filters = number(c.filters()),
               width = number(c.axes[2].out) * (padded.axes[2].is_bare ? share_of_elements(padded.axes[2]) : 1),
               rows = number(c.n * c.groups * c.axes[0].out * c.axes[1].out), kernel = number(c.axes[2].kernel);
  // Rows of taps, less those on zeros.
  const double lines =
      number(c.channels() * c.taps()) / kernel * share_of_elements(padded.axes[0]) * share_of_elements(padded.axes[1]);
  const double blocks_of_line = up(kernel, t.taps);
  double taps = kernel / blocks_of_line, tiles = lines * blocks_of_line, channels = 1;
  if (t.taps >= 2 * kernel) {
    channels = std::min(std::floor(t.taps / kernel), number(c.channels()));
    taps *= channels;
    tiles /= channels;
  }
  if (t.over_filters) {
    const double vectors = number(even_part(static_cast<int64_t>(up(filters, lanes)), t.width)),
                 blocks = up(filters, vectors * lanes);
    // Planes of several channels are read side by side.
    const double factor = 1 + 0.03 * (std::min(channels, 8.0) - 1);
    // Each block reads the rows of the image again, which come from further away where the second cache does not hold
    // them. The gradient is transposed first.
    const double second_cache = number(target.second_cache_bytes > 0 ? target.second_cache_bytes : 1 << 20);
    const bool is_far = number(padded.inputs * padded.stored_pixels()) * size_of_element(c.dtype) > second_cache &&
                        plan.blocks > 1 && !plan.blocks_inside;
    const double of_line = is_far ? rates.copied : c.channels() > kFewStreams ? rates.fetched_second : rates.second;
    const double lines_of_image =
        number(c.channels() * c.axes[1].stride * c.axes[2].padded()) * size_of_element(c.dtype) / kLine;
    return moved + rows * blocks *
                       (width * (tiles * rates.tile(taps, vectors) * factor + vectors * rates.shuffles(lanes)) +
                        lines_of_image * of_line);
  }
  // Most loads of both cross a cache line, and rows are short.
  const double factor = 1.15 * (1 + 0.1 * (channels - 1));
  constexpr double kOfShortLoop = 2;  // cycles of a loop over a row's vectors
  const double blocks = up(filters, t.width), of_tile = filters / blocks;
  // The lanes of each sum are added in the end.
  const double of_weight = number(plan.parts) * rates.load + std::log2(lanes) * 2 * rates.shuffle + 2 * rates.load;
  return moved + weights * of_weight +
         rows * blocks * tiles *
             (factor * up(width, lanes) *
                  std::max({taps * of_tile * rates.multiply_add, (taps + of_tile) * rates.crossing_load, rates.sum}) +
              kOfShortLoop);
}

double expected_patches_cycles(const Convolution& c, const Target& target) {
  constexpr double kLargeProduct = 1e6;  // multiplications, of which BLAS packs the operands
  const Rates rates(target);
  // Neighbouring positions under a tap, which are copied at once, or one by one; and with a stride the loops of a tap,
  // and an element, which is copied, or added where it belongs.
  const bool has_stride = c.axes[2].stride > 1;
  const double of_run = has_stride ? 14 : 40, of_tap = has_stride ? 100 : 0,
               of_strided = (c.pass == ConvPass::kInputGradient ? 8 : 4) * rates.element;
  const double size = size_of_element(c.dtype), n = number(c.n * c.groups), depth = number(c.channels() * c.taps()),
               positions = number(c.positions()), patches = n * depth * positions, lines = patches * size / kLine;
  const int64_t slabs = ceil_div(c.positions(), patches_walk(c, true).positions);
  MatrixProduct product{
      .dtype = c.dtype, .m = c.filters(), .n = ceil_div(c.positions(), slabs), .k = c.channels() * c.taps()};
  if (c.pass == ConvPass::kInputGradient) std::swap(product.m, product.k);
  if (c.pass == ConvPass::kWeightGradient) {
    std::swap(product.n, product.k);
    product.trans_b = true;
  }
  // It is called for a product of matrices, also where there is one position, or one result.
  if (c.pass == ConvPass::kForward || product.m == 1) product.n = std::max<int64_t>(2, product.n);
  double out = n * number(slabs) * expected_library_cycles(product, target);  // BLAS packs long rows of positions
  if (c.pass == ConvPass::kWeightGradient && number(product.m * product.n) * number(product.k) > kLargeProduct)
    out = std::max(out, n * ((number(c.filters()) + depth) * positions * size / kLine * rates.r.library_line / 100.0 +
                             1.14 * up(number(c.filters()), 8) * 8 * positions * depth / lanes_of(c.dtype, target) *
                                 rates.r.library_multiply_add / 100.0));
  const bool is_gradient = c.pass == ConvPass::kInputGradient, is_matrix = is_patch_matrix(c),
             is_far = target.is_in_memory(bytes_of(c));
  Convolution forward = c;
  forward.pass = ConvPass::kForward;
  const double gradient = n * number(c.filters()) * positions * size / kLine,
               of_images = lines_of_images(correlation_of(forward)), read = is_gradient ? gradient : of_images,
               of_results = is_gradient ? number(c.n * c.c * c.pixels()) * size / kLine : gradient;
  // A row of results is made of a few columns at a time of all rows of the other operand.
  if (is_matrix && product.m == 1 && !is_far && bytes_of(c) > 4 * number(target.second_cache_bytes))
    return out + read * rates.apart_memory / 2;
  // BLAS reads parts of rows of the gradient, and of a matrix.
  if (is_far)
    out += read * (is_gradient || is_matrix ? rates.apart_memory : rates.memory) +
           of_results * (is_matrix ? rates.apart_memory : rates.memory);
  if (!is_far && of_results * kLine > number(target.second_cache_bytes))
    out += of_results * (c.pass == ConvPass::kWeightGradient ? rates.third : 2 * rates.copied);
  if (is_matrix) return out + (is_far ? 0 : lines * rates.second);
  if (is_gradient) out += of_results * rates.copied;  // begins as zeros, to which they are added
  // Patches are written and read; those of a gradient to the images are added where they belong.
  const double times = is_gradient ? 8 : c.pass == ConvPass::kForward ? 0.5 : 1;
  out += n * depth * of_tap + patches / number(c.axes[2].out) * of_run + lines * times * rates.second;
  // Runs with a stride touch all lines of their rows, which come from further away than the patches.
  if (has_stride) out += patches * of_strided + of_images * rates.third;
  return out;
}

}  // namespace thtrain
