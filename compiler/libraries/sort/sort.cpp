#include "compiler/libraries/sort/sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/sort/engine.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/order/vector_sort.h"

namespace thtrain {
namespace {

using vector_sort::Engine;
using vector_sort::Found;
using vector_sort::Range;
using vector_sort::Row;

template <class T>
const Engine<T>* engine_of(int lanes) {
  for (const Engine<T>* engine : {vector_sort::avx2_engine<T>(), vector_sort::avx512_engine<T>()})
    if (engine && engine->lanes == lanes) return engine;
  return nullptr;
}

/// Sorts rows of n elements, of which the first k are wanted. Of floats NaN counts as larger than any number, and
/// zeros of both signs are equal: they come in the order in which they are given.
template <class T>
class RowSort {
 public:
  using Bits = vector_sort::Bits<T>;

  RowSort(const Engine<T>& engine, bool descending, bool is_unsigned, long n, long k)
      : engine_(engine), descending_(descending), n_(n), k_(k) {
    constexpr Bits kSign = std::numeric_limits<Bits>::min();
    if (std::is_floating_point_v<T>)
      inverted_ = descending ? kSign : 0;
    else
      inverted_ = (descending ? ~Bits(0) : Bits(0)) ^ (is_unsigned ? kSign : Bits(0));
  }

  /// Of `out` the next `room` elements may be written, n at least where all of a row are wanted. By several threads the
  /// row is split until there are several ranges for each of them; a thread takes `grain` elements at least.
  void sort(const T* in, T* out, T* work, long room, int threads, long grain) const {
    const Row<T> row = k_ < n_ ? Row<T>{work + n_, work, k_, n_} : Row<T>{out, work, k_, room};
    const Partition parts(n_, grain, 1, threads);
    const Found<T> found = read(in, row.keys, parts);
    if constexpr (std::is_same_v<T, int64_t>) {
      // Numbers that differ in 32 bits alone are sorted as such: of these a vector has twice as many.
      if ((static_cast<uint64_t>(found.greatest) - static_cast<uint64_t>(found.least)) >> 32 == 0) {
        int32_t* const keys = reinterpret_cast<int32_t*>(work);
        in_parts(parts, n_,
                 [&](long from, long to) { engine_.narrow(row.keys + from, keys + from, to - from, found.least); });
        sort_keys(*engine_of<int32_t>(2 * engine_.lanes), {keys, keys + n_, k_, n_}, threads, grain);
        in_parts(parts, k_, [&](long from, long to) {
          engine_.widen(keys + from, out + from, to - from, found.least, inverted_);
        });
        return;
      }
    }
    sort_keys(engine_, row, threads, grain);
    finish(in, row.keys, out, found);
  }

 private:
  int most_splits() const { return 2 * static_cast<int>(std::bit_width(static_cast<unsigned long>(n_))); }

  template <class F>
  static void in_parts(const Partition& parts, long n, F&& f) {
    run_pieces(parts.pieces(), [&](int piece) { f(std::min(parts.begin(piece), n), std::min(parts.end(piece), n)); });
  }

  Found<T> read(const T* in, T* keys, const Partition& parts) const {
    if (parts.pieces() == 1) return engine_.read(in, keys, n_, inverted_);
    std::vector<Found<T>> found(static_cast<size_t>(parts.pieces()));
    run_pieces(parts.pieces(), [&](int piece) {
      const long begin = parts.begin(piece), end = parts.end(piece);
      found[static_cast<size_t>(piece)] = engine_.read(in + begin, keys + begin, end - begin, inverted_);
    });
    Found<T> all = found[0];
    for (const Found<T>& part : std::span(found).subspan(1)) {
      all.nans += part.nans;
      all.negative_zero |= part.negative_zero;
      all.least = std::min(all.least, part.least);
      all.greatest = std::max(all.greatest, part.greatest);
    }
    return all;
  }

  template <class Key>
  void sort_keys(const Engine<Key>& engine, const Row<Key>& row, int threads, long grain) const {
    if (threads == 1) return engine.sort(row, {0, n_}, most_splits());
    each(split(engine, row, threads, grain), threads, [&](const Range<Key>& range) {
      engine.sort({row.keys, row.work, k_, range.end}, range, most_splits());
    });
  }

  // Ranges one after the other, in runs of about as many keys for each thread.
  template <class Key, class F>
  void each(const std::vector<Range<Key>>& ranges, int threads, F&& f) const {
    const Partition keys(n_, 1, 1, threads);
    run_pieces(keys.pieces(), [&](int piece) {
      for (const Range<Key>& range : ranges)
        if (range.begin >= keys.begin(piece) && range.begin < keys.end(piece)) f(range);
    });
  }

  template <class Key>
  std::vector<Range<Key>> split(const Engine<Key>& engine, const Row<Key>& row, int threads, long grain) const {
    constexpr long kRangesOfThread = 4;
    const long large = std::max(grain, n_ / (kRangesOfThread * threads));
    std::vector<Range<Key>> ranges{{0, n_}};
    for (int round = most_splits(); round > 0; --round) {
      const auto is_large = [&](const Range<Key>& range) {
        return range.end - range.begin > large && range.begin < k_;
      };
      if (std::none_of(ranges.begin(), ranges.end(), is_large)) break;
      std::vector<Range<Key>> next(2 * ranges.size());
      each(ranges, threads, [&](const Range<Key>& range) {
        const auto at = static_cast<size_t>(2 * (&range - ranges.data()));
        if (!is_large(range)) {
          next[at] = range;
          return;
        }
        const auto halves = engine.split(row, range);
        next[at] = halves.low;
        next[at + 1] = halves.high;
      });
      std::erase_if(next, [](const Range<Key>& range) { return range.begin == range.end; });
      ranges = std::move(next);
    }
    return ranges;
  }

  void finish(const T* in, T* keys, T* out, const Found<T>& found) const {
    if (found.negative_zero)
      engine_.place_zeros(in, n_, std::lower_bound(keys, keys + k_, T(0)), std::upper_bound(keys, keys + k_, T(0)),
                          inverted_);
    if (inverted_ != 0 || keys != out) engine_.write(keys, out, k_, inverted_);
    if constexpr (std::is_floating_point_v<T>) {
      const T nan = std::bit_cast<T>(std::numeric_limits<Bits>::max());
      const long first = descending_ ? 0 : n_ - found.nans;
      std::fill(out + std::min(first, k_), out + std::min(first + found.nans, k_), nan);
    }
  }

  const Engine<T>& engine_;
  bool descending_;
  long n_, k_;
  Bits inverted_;
};

template <class T>
void sort_rows(ThContext* context, TH_SORT_PARAMETERS) {
  if (n == 0 || k == 0) return;
  const Engine<T>& engine = *engine_of<T>(lanes);
  const RowSort<T> sort(engine, descending != 0, is_unsigned != 0, n, k);
  const T* const from = static_cast<const T*>(in);
  T *const to = static_cast<T*>(out), *const records = static_cast<T*>(work);
  const long of_row = k < n ? 2 * n : n;
  const bool on_stack = of_row * static_cast<long>(sizeof(T)) <= kSortStackBytes;
  const Partition parts(rows, std::max(grain / n, 1L), 1, context->threads);
  if (!on_stack && parts.pieces() < context->threads && n >= 2 * grain && !inside_parallel()) {
    for (long row = 0; row < rows; ++row) sort.sort(from + row * n, to + row * k, records, n, context->threads, grain);
    return;
  }
  run_pieces(parts.pieces(), [&](int piece) {
    alignas(64) char stack[kSortStackBytes];
    for (long row = parts.begin(piece); row < parts.end(piece); ++row)
      sort.sort(from + row * n, to + row * k, on_stack ? reinterpret_cast<T*>(stack) : records + row * of_row,
                (parts.end(piece) - row) * n, 1, grain);
  });
}

template <class T>
std::optional<LibraryImplementation> found_sort() {
  return LibraryImplementation{reinterpret_cast<void*>(sort_rows<T>), "thtrain"};
}

}  // namespace

NamedFunctions sort_functions() {
  return {{"sort_f32", found_sort<float>},
          {"sort_f64", found_sort<double>},
          {"sort_i32", found_sort<int32_t>},
          {"sort_i64", found_sort<int64_t>}};
}

}  // namespace thtrain
