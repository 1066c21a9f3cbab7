// Quicksort by vectors.
#pragma once

#include <limits>
#include <type_traits>

#include "compiler/libraries/sort/engine.h"
#include "compiler/libraries/sort/networks.h"

namespace thtrain::vector_sort {

/// For vectors of an Isa (avx2_vectors.h, avx512_vectors.h). Ranges of up to kMost elements are sorted by networks. The
/// others are split at a pivot: vector by vector, the elements below it go to the front of the range in `keys`, the
/// others to its end in `work`, from where the upper half goes on. So each element is moved once, and only to where
/// nothing is that is still needed: a whole vector is stored on each side.
///
/// C. A. R. Hoare, Quicksort, The Computer Journal 5 (1962); the pivot is about the median of medians of three.
template <class Isa>
class Quicksort {
 public:
  using T = typename Isa::Element;
  using Vector = typename Isa::Vector;
  static constexpr long kLanes = Isa::kLanes;
  static constexpr long kMost = 128;  // that a network sorts

  static Found<T> read(const T* in, T* keys, long n, Bits<T> inverted) {
    Found<T> out;
    long i = 0;
    if constexpr (std::is_floating_point_v<T>) {
      typedef Bits<T> Integers __attribute__((vector_size(sizeof(Vector))));
      constexpr Bits<T> kSign = std::numeric_limits<Bits<T>>::min();
      const Bits<T> kept = of(Isa::kMost) | inverted;  // what a NaN becomes
      Integers nans{}, zeros{};
      for (; i + kLanes <= n; i += kLanes) {
        const Vector x = Isa::load(in + i);
        const Integers bits = (Integers)x, is_nan = (Integers)(x != x), key = bits ^ inverted;
        nans -= is_nan;
        zeros |= bits == kSign;
        Isa::store(keys + i, (Vector)((key & ~is_nan) | (kept & is_nan)));
      }
      Bits<T> any = 0;
      for (int lane = 0; lane < kLanes; ++lane) {
        out.nans += nans[lane];
        any |= zeros[lane];
      }
      for (; i < n; ++i) {
        const T x = in[i];
        const Bits<T> bits = of(x);
        out.nans += x != x;
        any |= bits == kSign;
        keys[i] = element(x != x ? kept : bits ^ inverted);
      }
      out.negative_zero = any != 0;
    } else if constexpr (sizeof(T) == 8) {
      Vector least = Isa::splat(Isa::kMost), greatest = Isa::splat(~Isa::kMost);
      const auto see = [&](Vector key) __attribute__((always_inline)) {
        least = Isa::least(least, key);
        greatest = Isa::greatest(greatest, key);
      };
      for (; i + kLanes <= n; i += kLanes) {
        const Vector key = Isa::load(in + i) ^ Isa::splat(inverted);
        Isa::store(keys + i, key);
        see(key);
      }
      for (; i < n; ++i) see(Isa::splat(keys[i] = in[i] ^ inverted));
      out.least = least[0];
      out.greatest = greatest[0];
      for (int lane = 1; lane < kLanes; ++lane) {
        if (least[lane] < out.least) out.least = least[lane];
        if (greatest[lane] > out.greatest) out.greatest = greatest[lane];
      }
    } else {
      write(in, keys, n, inverted);
    }
    return out;
  }

  static void narrow(const T* keys, int32_t* out, long n, T least) {
    for (long i = 0; i < n; ++i)
      out[i] = static_cast<int32_t>(
          static_cast<uint32_t>(static_cast<uint64_t>(keys[i]) - static_cast<uint64_t>(least)) ^ 0x80000000u);
  }
  static void widen(const int32_t* keys, T* out, long n, T least, Bits<T> inverted) {
    for (long i = 0; i < n; ++i)
      out[i] = static_cast<T>((static_cast<uint32_t>(keys[i]) ^ 0x80000000u) + static_cast<uint64_t>(least)) ^ inverted;
  }

  static void write(const T* keys, T* out, long n, Bits<T> inverted) {
    typedef Bits<T> Integers __attribute__((vector_size(sizeof(Vector))));
    long i = 0;
    for (; i + kLanes <= n; i += kLanes) Isa::store(out + i, (Vector)((Integers)Isa::load(keys + i) ^ inverted));
    for (; i < n; ++i) out[i] = element(of(keys[i]) ^ inverted);
  }

  static void place_zeros(const T* in, long n, T* at, T* last, Bits<T> inverted) {
    constexpr long kBlock = 8 * kLanes;
    for (long i = 0; at != last;) {
      while (i + kBlock <= n && !has_zero(in + i)) i += kBlock;
      for (const long end = i + kBlock < n ? i + kBlock : n; i < end && at != last; ++i) {
        *at = element(of(in[i]) ^ inverted);
        at += in[i] == 0;
      }
    }
  }

  static Halves<T> split(const Row<T>& row, const Range<T>& range) {
    const long n = range.end - range.begin;
    const T pivot = pivot_of((range.is_in_work ? row.work : row.keys) + range.begin, n);
    long middle = range.begin;
    bool is_in_work = range.is_in_work;
    if (!range.has_least || range.least < pivot) {
      middle = part<false>(row, range, pivot, is_in_work);
      is_in_work = true;
    }
    if (middle > range.begin)
      return {{range.begin, middle, false, range.has_least, range.least}, {middle, range.end, true, true, pivot}};
    // No element is below the pivot: those that equal it are sorted.
    middle = part<true>(row, range, pivot, is_in_work);
    return {{middle, middle}, {middle, range.end, true, true, pivot}};
  }

  static void sort(const Row<T>& row, const Range<T>& given, int splits) {
    Range<T> range = given;
    while (range.end - range.begin > kMost && range.begin < row.wanted) {
      if (splits-- == 0) return sort_by_heap(row, range);
      const Halves<T> halves = split(row, range);
      sort(row, halves.low, splits);
      range = halves.high;
    }
    if (range.begin < row.wanted) sort_few(row, range);
  }

 private:
  static Bits<T> of(T x) { return __builtin_bit_cast(Bits<T>, x); }
  static T element(Bits<T> x) { return __builtin_bit_cast(T, x); }

  static bool has_zero(const T* in) {
    typedef Bits<T> Integers __attribute__((vector_size(sizeof(Vector))));
    Integers zeros{};
    for (int i = 0; i < 8; ++i) zeros |= (Integers)(Isa::load(in + i * kLanes) == Vector{});
    Bits<T> any = 0;
    for (int lane = 0; lane < kLanes; ++lane) any |= zeros[lane];
    return any != 0;
  }

  // ---- splitting

  static T* moved(T* p, intptr_t bytes) { return reinterpret_cast<T*>(reinterpret_cast<intptr_t>(p) + bytes); }
  static intptr_t distance(const T* from, const T* to) {
    return reinterpret_cast<intptr_t>(to) - reinterpret_cast<intptr_t>(from);
  }

  // What is read has been read when something is stored there: from the end that lower or upper elements begin at. The
  // next place of upper elements follows from that of the lower ones, since each element takes one of them.
  template <bool kOrEqual>
  static long part(const Row<T>& row, const Range<T>& range, T pivot, bool is_in_work) {
    constexpr intptr_t kStep = sizeof(Vector);
    const Vector pivots = Isa::splat(pivot);
    const long n = range.end - range.begin, vectors = n / kLanes;
    T* low = row.keys + range.begin;
    const auto put = [&](Vector v, intptr_t to_upper) __attribute__((always_inline)) {
      const auto parted = Isa::template part<kOrEqual>(v, pivots);
      Isa::store(low, parted.low);
      Isa::store(moved(low, to_upper), parted.high);
      low += parted.lows;
    };
    const auto put_one = [&](T x, intptr_t to_upper) __attribute__((always_inline)) {
      *low = x;
      *moved(low, to_upper) = x;
      low += kOrEqual ? x <= pivot : x < pivot;
    };
    if (is_in_work) {
      intptr_t to_upper = distance(low, row.work + range.end);
      T* const first = low;
#pragma GCC unroll 4
      for (long i = 0; i < vectors; ++i) {
        to_upper -= kStep;
        put(Isa::load(moved(first, to_upper)), to_upper);
      }
      for (long i = vectors * kLanes; i < n; ++i) {
        to_upper -= sizeof(T);
        put_one(*moved(first, to_upper), to_upper);
      }
    } else {
      const T* in = low;
      intptr_t to_upper = distance(low, row.work + range.end);
#pragma GCC unroll 4
      for (long i = 0; i < vectors; ++i) {
        to_upper -= kStep;
        put(Isa::load(in), to_upper);
        in += kLanes;
      }
      for (long i = vectors * kLanes; i < n; ++i) {
        to_upper -= sizeof(T);
        put_one(*in++, to_upper);
      }
    }
    return low - row.keys;
  }

  static Vector median(Vector a, Vector b, Vector c) {
    return Isa::greatest(Isa::least(a, b), Isa::least(Isa::greatest(a, b), c));
  }
  // Of vectors `step` elements apart: in each lane about the median of 3^kLevels.
  template <int kLevels>
  static Vector medians(const T* x, long step) {
    if constexpr (kLevels == 0)
      return Isa::load(x);
    else
      return median(medians<kLevels - 1>(x, 3 * step), medians<kLevels - 1>(x + step, 3 * step),
                    medians<kLevels - 1>(x + 2 * step, 3 * step));
  }
  static T pivot_of(const T* x, long n) {
    const long room = n - kLanes;
    Vector v = n < 64 * kLanes     ? medians<1>(x, room / 2)
               : n < 1024 * kLanes ? medians<2>(x, room / 8)
                                   : medians<3>(x, room / 26);
    Network<Isa>::template sort<1>(&v);
    return v[kLanes / 2];
  }

  // ---- few keys

  static void sort_few(const Row<T>& row, const Range<T>& range) {
    const T* in = (range.is_in_work ? row.work : row.keys) + range.begin;
    T* out = row.keys + range.begin;
    const long n = range.end - range.begin, room = row.room - range.begin;
    if (n == 1) *out = *in;
    if (n > 1) sort_rows<1>(in, out, n, room);
  }

  // By a network of so many vectors, or of the next power of two that is enough.
  template <int kRows>
  static void sort_rows(const T* in, T* out, long n, long room) {
    if constexpr (kRows * kLanes < kMost)
      if (n > kRows * kLanes) return sort_rows<2 * kRows>(in, out, n, room);
    sort_by_network<kRows>(in, out, n, room);
  }
  template <int kRows>
  static __attribute__((noinline)) void sort_by_network(const T* in, T* out, long n, long room) {
    constexpr int kWhole = kRows / 2;
    Vector v[kRows];
#pragma GCC unroll 32
    for (int i = 0; i < kWhole; ++i) v[i] = Isa::load(in + i * kLanes);
#pragma GCC unroll 32
    for (int i = kWhole; i < kRows; ++i) {
      const long left = n - i * kLanes;
      v[i] = Isa::load_first(in + i * kLanes, static_cast<int>(left < 0 ? 0 : left < kLanes ? left : kLanes));
    }
    Network<Isa>::template sort<kRows>(v);
    if (room >= kRows * kLanes) {
#pragma GCC unroll 32
      for (int i = 0; i < kRows; ++i) Isa::store(out + i * kLanes, v[i]);
      return;
    }
    T all[kRows * kLanes];
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) Isa::store(all + i * kLanes, v[i]);
    long i = 0;
    for (; i + kLanes <= n; i += kLanes) Isa::store(out + i, Isa::load(all + i));
    for (; i < n; ++i) out[i] = all[i];
  }

  // ---- heap sort

  static void sort_by_heap(const Row<T>& row, const Range<T>& range) {
    T* const x = row.keys + range.begin;
    const long n = range.end - range.begin;
    if (range.is_in_work)
      for (long i = 0; i < n; ++i) x[i] = row.work[range.begin + i];
    for (long i = n / 2; i-- > 0;) sink(x, i, n);
    for (long last = n; --last > 0;) {
      const T greatest = x[0];
      x[0] = x[last];
      x[last] = greatest;
      sink(x, 0, last);
    }
  }
  static void sink(T* x, long at, long n) {
    const T now = x[at];
    for (long child; (child = 2 * at + 1) < n; at = child) {
      if (child + 1 < n && x[child] < x[child + 1]) ++child;
      if (!(now < x[child])) break;
      x[at] = x[child];
    }
    x[at] = now;
  }
};

/// The engine of vectors of an Isa.
template <class Isa>
const Engine<typename Isa::Element>* engine_of() {
  using T = typename Isa::Element;
  using Sort = Quicksort<Isa>;
  static constexpr Engine<T> kEngine = [] {
    Engine<T> out{Isa::kLanes, Sort::read, Sort::write, nullptr, nullptr, Sort::place_zeros, Sort::split, Sort::sort};
    if constexpr (std::is_same_v<T, int64_t>) {
      out.narrow = Sort::narrow;
      out.widen = Sort::widen;
    }
    return out;
  }();
  return &kEngine;
}

}  // namespace thtrain::vector_sort
