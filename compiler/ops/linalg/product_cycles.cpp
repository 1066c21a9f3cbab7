#include "compiler/ops/linalg/product_cycles.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/ceil_div.h"
#include "compiler/kernel/tile_cycles.h"

namespace thtrain {
namespace {

using kernel::Target;

constexpr double kLineOfProduct = 64;

double as_number(int64_t n) {
  return static_cast<double>(n);
}

struct TilingCycles {
  const GemmTiling& t;
  const MatrixProduct& p;
  const Target& target;
  int64_t lanes = target.lanes_of(p.dtype), size = static_cast<int64_t>(size_of(p.dtype));
  int64_t depth = t.by_rows ? p.k : std::min(t.depth, p.k), slabs = ceil_div(p.k, depth);
  double load = target.rates.load / 100.0, store = 2 * load, shuffle = target.rates.shuffle / 100.0;

  double lines(double elements) const { return elements * as_number(size) / kLineOfProduct; }

  /// Lines that are read again and again: nothing where the first cache holds them.
  double of_line(double bytes) const {
    if (bytes <= as_number(target.first_cache_bytes) / 2) return 0;
    const bool is_near = target.second_cache_bytes == 0 || bytes <= as_number(target.second_cache_bytes) / 2;
    return (is_near ? target.rates.fetched_second_line : target.rates.fetched_third_line) / 100.0;
  }

  /// All rows of C in a tile of so many vectors.
  double of_sums(int64_t vectors) const {
    int64_t rows = std::min<int64_t>(t.rows, p.m);
    if (!t.by_rows) rows = rows_of_block(t, p, vectors, target);
    const int64_t blocks = ceil_div(p.m, rows);
    auto steps = [&](int64_t of_rows) {
      return of_rows == 0 ? 0 : kernel::tile_cycles(target, as_number(of_rows), as_number(vectors));
    };
    double out = 0;
    if (t.by_rows) {
      out = as_number(p.k) * (as_number(p.m / rows) * steps(rows) + steps(p.m % rows));
    } else {
      const int64_t high = p.m - blocks * (rows - 1);
      out = as_number(p.k) * (as_number(high) * steps(rows) + as_number(blocks - high) * steps(rows - 1));
    }
    // Before the first multiply-add of a block has its operands, and after its last one; sums go to C.
    const double read = p.accumulates ? as_number(slabs) : as_number(slabs - 1);
    out += as_number(slabs * blocks) * 2.5 * target.rates.sum / 100.0;
    return out + as_number(p.m * vectors) * (as_number(slabs) * store + read * load);
  }

  /// The panel of a tile: rows of B as they lie, or squares of rows of B^T transposed, and what is left of these.
  double of_packing(int64_t vectors) const {
    if (!p.trans_b) {
      const bool is_packed = t.by_rows || ceil_div(p.m, rows_of_block(t, p, vectors, target)) > 1;
      return is_packed ? as_number(p.k * vectors) * store : 0;
    }
    // A panel that the first cache does not hold is written to the second one, and read there.
    const double panel = as_number(depth * vectors * lanes), of_panel = lines(panel) * of_line(panel * as_number(size));
    const int64_t whole = depth / lanes * lanes, rest = depth - whole;
    const double square = as_number(lanes) *
                          (target.rates.crossing_load / 100.0 + store + std::log2(as_number(lanes)) * shuffle),
                 row = as_number(lanes) * (std::min(load, 0.5) + shuffle / 2) + store;  // two elements a cycle
    constexpr double kAtOnce = 0.7;  // loads, shuffles and stores, which partly overlap
    return kAtOnce * as_number(slabs * vectors) * (as_number(whole / lanes) * square + as_number(rest) * row) +
           as_number(slabs) * of_panel;
  }

  /// Parts of rows of B^T, as long as a slab is deep: of more rows at a time than a processor follows it has not
  /// foreseen the first lines, where they lie further away than the second cache.
  double of_runs() const {
    constexpr int64_t kFollowed = 16;
    constexpr double kUnforeseen = 3;
    const double b = as_number(p.n * p.k);
    if (!p.trans_b || t.vectors * lanes <= kFollowed || b * as_number(size) <= as_number(target.second_cache_bytes))
      return 0;
    const double unforeseen = std::min(kUnforeseen, lines(as_number(depth)));
    return as_number(p.n * slabs) * unforeseen * std::max(0, target.rates.apart_memory_line - target.rates.third_line) /
           100.0;
  }

  double all() const {
    const int64_t vectors = ceil_div(p.n, lanes), tiles = ceil_div(vectors, int64_t{t.vectors}),
                  last = vectors - (tiles - 1) * t.vectors;
    auto of_tile = [&](int64_t of_vectors) { return of_sums(of_vectors) + of_packing(of_vectors); };
    double out = as_number(tiles - 1) * of_tile(t.vectors) + of_tile(last);
    const double m = as_number(p.m), n = as_number(p.n), k = as_number(p.k);
    out += of_runs();
    if (t.by_rows) {
      // Each block of rows reads all panels; A and C go by once.
      const double panels = k * as_number(vectors * lanes);
      const double blocks = std::ceil(m / t.rows);
      return out + blocks * lines(panels) * of_line(panels * as_number(size)) +
             lines(m * k + m * n) * of_line((m * k + m * n) * as_number(size));
    }
    // Each tile reads all of A, and a short run of each row of C, neighbours of which share lines, as short rows do.
    const double of_run = n * as_number(size) > kLineOfProduct ? 1 : 0;
    const double of_a = lines(m * k) * of_line(m * as_number(depth) * as_number(size)),
                 of_c = std::min((lines(as_number(t.vectors * lanes)) + of_run) * m, lines(m * n)) *
                        target.rates.third_line / 100.0;
    // Columns of A are prefetched for the next block.
    if (p.trans_a)
      out = std::max(out, as_number(tiles) * of_a);
    else
      out += as_number(tiles) * of_a;
    return out + as_number(tiles) * (m * n * as_number(size) > as_number(target.first_cache_bytes) ? of_c : 0);
  }
};

// What all lines of the operands take at least, where those are in memory; A is read so many times, where it is too
// large for the last cache to have it again.
double memory_cycles(const MatrixProduct& p, const Target& target, int of_line, int64_t reads_of_a = 1) {
  const auto size = static_cast<double>(size_of(p.dtype));
  const double m = as_number(p.m), n = as_number(p.n), k = as_number(p.k), a = m * k * size,
               bytes = a + (k * n + m * n) * size;
  if (!target.is_in_memory(bytes)) return 0;
  const double again = 2 * a > as_number(target.last_cache_bytes) ? as_number(reads_of_a - 1) * a : 0;
  return (bytes + again) / kLineOfProduct * of_line / 100.0;
}

// Of kernels for short products, which pack nothing: along what lies side by side in both operands they take vectors.
double small_product_cycles(const MatrixProduct& p, const Target& target) {
  constexpr double kOfShortRow = 4;   // cycles until a row of results is stored by vectors
  constexpr double kOfResult = 0.6;   // one that is not stored as a part of a vector
  constexpr double kRowsAtATime = 4;  // of A, which read all of B^T
  constexpr double kOfLanes = 0.8;    // of sums that lie in the lanes of vectors
  const kernel::KernelRates& r = target.rates;
  const double m = as_number(p.m), n = as_number(p.n), k = as_number(p.k), lanes = target.lanes_of(p.dtype),
               of_vector = r.library_multiply_add / 100.0, of_narrow = r.library_narrow_multiply_add / 100.0;
  const double rows = std::ceil(m / lanes), columns = std::ceil(n / lanes),
               of_results = m * n * kOfResult * (p.accumulates ? 2 : 1),
               of_step = r.sum / 100.0,  // of the inner length, whose multiply-adds wait for those before them
      // By lanes, which are loaded too where they are added to, unless vectors divide the sums.
      of_row = p.accumulates && p.k % target.lanes_of(p.dtype) != 0 ? 30 : 12;
  if (p.trans_a && p.trans_b) return rows * n * k * of_vector + of_results;
  if (p.trans_a)
    return (std::min(rows * n, columns * m) * of_narrow + of_step) * k + m * kOfShortRow +
           (p.accumulates ? of_results : 0);
  if (p.trans_b) {
    // Each result is the sum of the lanes of a vector, unless rows are shorter than that: then it is the sum of single
    // products. A is read once, and B^T again and again.
    constexpr double kOfSum = 1.2, kOfProduct = 0.25;
    const double blocks = std::ceil(m / kRowsAtATime);
    if (k < lanes)
      return blocks * kRowsAtATime * n * (kOfSum + k * kOfProduct) + (p.accumulates ? m * n * kOfResult : 0);
    const double of_sum = std::log2(lanes) * r.shuffle / 100.0;
    // Lines of an operand that the second cache does not hold.
    auto lines = [&](double elements) {
      const double bytes = elements * static_cast<double>(size_of(p.dtype));
      return bytes > as_number(target.second_cache_bytes) ? bytes / kLineOfProduct : 0;
    };
    return m * n * k / lanes * kOfLanes * of_narrow + m * n * of_sum + of_results +
           lines(m * k) * r.fetched_third_line / 100.0 + (blocks - 1) * lines(n * k) * r.third_line / 100.0;
  }
  if (std::min(m, n) <= 2 * lanes) return (m * n / lanes * of_narrow + of_step) * k + std::max(m, n) * of_row;
  constexpr double kOfRest = 20;  // the same where a part of a vector is left
  return m * columns * k * of_vector + m * (p.n % target.lanes_of(p.dtype) == 0 ? kOfShortRow : kOfRest);
}

}  // namespace

double expected_cycles(const GemmTiling& t, const MatrixProduct& p, const Target& target) {
  const int64_t tiles = t.by_rows ? 1 : ceil_div(p.n, int64_t{t.vectors} * target.lanes_of(p.dtype));
  return std::max(TilingCycles{t, p, target}.all(), memory_cycles(p, target, target.rates.memory_line, tiles));
}

double expected_library_cycles(const MatrixProduct& p, const Target& target) {
  constexpr double kRows = 8;        // which a BLAS computes at a time
  constexpr double kOfRow = 12;      // cycles until a row of few results is stored
  constexpr int64_t kShort = 32;     // the least length of what is made of products that small kernels take
  constexpr double kSmall = 1e6;     // multiplications of those
  constexpr double kResults = 1200;  // theirs, of A B^T
  const kernel::KernelRates& r = target.rates;
  const double m = as_number(p.m), n = as_number(p.n), k = as_number(p.k), lanes = target.lanes_of(p.dtype),
               of_call = r.library_call / 100.0, by_lines = memory_cycles(p, target, r.memory_line);
  if (p.m == 1 || p.n == 1)
    return std::max(m * n * k / lanes * 2 * r.load / 100.0 + m * n * kOfRow, by_lines) + of_call;
  const bool few_results = !p.trans_a && p.trans_b;
  const double parts = std::max(m * n * k / kSmall, few_results ? m * n / kResults : 0);
  if (target.lanes_of(DType::kFloat64) >= 8 && (std::min(p.m, p.n) <= kShort || parts <= 1)) {
    // Of several products each reads parts of rows.
    const double apart = parts > 1 ? memory_cycles(p, target, r.apart_memory_line) : by_lines;
    return std::max(small_product_cycles(p, target), apart) + std::ceil(parts) * of_call;
  }
  // What is packed, and the results.
  const double lines = (m * k + k * n + 0.8 * m * n) * static_cast<double>(size_of(p.dtype)) / kLineOfProduct,
               of_rows = std::ceil(m / kRows) * kRows * std::ceil(n / lanes) * k * r.library_multiply_add / 100.0;
  return std::max(of_rows + lines * r.library_line / 100.0, by_lines) + of_call;
}

}  // namespace thtrain
