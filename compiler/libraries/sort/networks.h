// Sorting networks of vectors.
#pragma once

#include <utility>

#define TH_SORT_INLINE inline __attribute__((always_inline))

namespace thtrain::vector_sort {

/// Networks for vectors of Isa::kLanes elements (avx2_vectors.h, avx512_vectors.h). Rows are vectors, columns lanes.
///
/// K. E. Batcher, Sorting networks and their applications, AFIPS 1968: columns are sorted by odd-even merging, which
/// exchanges whole vectors alone, then neighbouring columns are merged by bitonic networks, two, four and more at a
/// time, of which only the first exchanges are between lanes.
template <class Isa>
class Network {
 public:
  using T = typename Isa::Element;
  using Vector = typename Isa::Vector;
  static constexpr int kLanes = Isa::kLanes;

  /// Sorts kRows * kLanes elements (a power of two of rows): v[0] has the least ones.
  template <int kRows>
  static TH_SORT_INLINE void sort(Vector* v) {
    sort_columns<0, kRows>(v);
    merge_columns<kRows, 1>(v);
    put_columns_together<kRows>(v);
  }

 private:
  static TH_SORT_INLINE void exchange(Vector& a, Vector& b) {
    const Vector low = Isa::least(a, b);
    b = Isa::greatest(a, b);
    a = low;
  }

  template <int kFirst, int kRows>
  static TH_SORT_INLINE void sort_columns(Vector* v) {
    if constexpr (kRows > 1) {
      sort_columns<kFirst, kRows / 2>(v);
      sort_columns<kFirst + kRows / 2, kRows / 2>(v);
      merge_halves<kFirst, kRows, 1>(v);
    }
  }
  // Of every kStep-th of kRows rows.
  template <int kFirst, int kRows, int kStep>
  static TH_SORT_INLINE void merge_halves(Vector* v) {
    if constexpr (2 * kStep < kRows) {
      merge_halves<kFirst, kRows, 2 * kStep>(v);
      merge_halves<kFirst + kStep, kRows, 2 * kStep>(v);
#pragma GCC unroll 32
      for (int i = kFirst + kStep; i + kStep < kFirst + kRows; i += 2 * kStep) exchange(v[i], v[i + kStep]);
    } else {
      exchange(v[kFirst], v[kFirst + kStep]);
    }
  }

  // Lane i of the result is element order(i) of a and b, one after the other.
  template <class Order>
  static TH_SORT_INLINE Vector shuffled(Vector a, Vector b, Order order) {
    return [&]<int... kLane>(std::integer_sequence<int, kLane...>) __attribute__((always_inline)) {
      return __builtin_shufflevector(a, b, order(kLane)...);
    }
    (std::make_integer_sequence<int, kLanes>());
  }
  template <int kMask>
  static TH_SORT_INLINE Vector crossed(Vector v) {
    return shuffled(
        v, v, [](int i) constexpr { return i ^ kMask; });
  }
  // Of b the lanes whose number has the bit, of a the others.
  template <int kBit>
  static TH_SORT_INLINE Vector chosen(Vector a, Vector b) {
    return shuffled(
        a, b, [](int i) constexpr { return i & kBit ? i + kLanes : i; });
  }

  template <int kDistance>
  static TH_SORT_INLINE void exchange_lanes(Vector& v) {
    const Vector other = crossed<kDistance>(v);
    v = chosen<kDistance>(Isa::least(v, other), Isa::greatest(v, other));
  }
  template <int kRows, int kDistance>
  static TH_SORT_INLINE void exchange_all_lanes(Vector* v) {
    if constexpr (kDistance > 0) {
#pragma GCC unroll 32
      for (int i = 0; i < kRows; ++i) exchange_lanes<kDistance>(v[i]);
      exchange_all_lanes<kRows, kDistance / 2>(v);
    }
  }
  template <int kRows, int kDistance>
  static TH_SORT_INLINE void exchange_all_rows(Vector* v) {
    if constexpr (kDistance > 0) {
#pragma GCC unroll 32
      for (int i = 0; i < kRows; ++i)
        if ((i & kDistance) == 0) exchange(v[i], v[i + kDistance]);
      exchange_all_rows<kRows, kDistance / 2>(v);
    }
  }

  // Runs of kColumns columns, one column after the other, become runs of twice as many. The second run of two is
  // compared backwards.
  template <int kRows, int kColumns>
  static TH_SORT_INLINE void merge_columns(Vector* v) {
    if constexpr (kColumns < kLanes) {
      constexpr int kBackwards = 2 * kColumns - 1;
      if constexpr (kRows == 1) {
        const Vector other = crossed<kBackwards>(v[0]);
        v[0] = chosen<kColumns>(Isa::least(v[0], other), Isa::greatest(v[0], other));
      } else {
#pragma GCC unroll 32
        for (int i = 0; i < kRows / 2; ++i) {
          Vector &a = v[i], &b = v[kRows - 1 - i];
          const Vector other = crossed<kBackwards>(b), low = Isa::least(a, other), high = Isa::greatest(a, other);
          a = chosen<kColumns>(low, high);
          b = crossed<kBackwards>(chosen<kColumns>(high, low));
        }
      }
      exchange_all_lanes<kRows, kColumns / 2>(v);
      exchange_all_rows<kRows, kRows / 2>(v);
      merge_columns<kRows, 2 * kColumns>(v);
    }
  }

  // The columns one after the other: squares are transposed, fewer rows than lanes are interleaved.
  template <int kRows>
  static TH_SORT_INLINE void put_columns_together(Vector* v) {
    if constexpr (kRows < kLanes) {
      interleave<kRows, kRows>(v);
    } else {
      Vector out[kRows];
      constexpr int kSquares = kRows / kLanes;
#pragma GCC unroll 32
      for (int square = 0; square < kSquares; ++square) {
        transpose<kLanes / 2>(v + square * kLanes);
#pragma GCC unroll 32
        for (int i = 0; i < kLanes; ++i) out[i * kSquares + square] = v[square * kLanes + i];
      }
#pragma GCC unroll 32
      for (int i = 0; i < kRows; ++i) v[i] = out[i];
    }
  }
  // Quarters off the diagonal are exchanged, then those of each quarter, and so on.
  template <int kDistance>
  static TH_SORT_INLINE void transpose(Vector* v) {
    if constexpr (kDistance > 0) {
#pragma GCC unroll 32
      for (int i = 0; i < kLanes; ++i)
        if ((i & kDistance) == 0) {
          Vector &a = v[i], &b = v[i + kDistance];
          const Vector upper = shuffled(
              a, b, [](int lane) constexpr { return lane & kDistance ? (lane ^ kDistance) + kLanes : lane; });
          b = shuffled(
              a, b, [](int lane) constexpr { return lane & kDistance ? lane + kLanes : lane ^ kDistance; });
          a = upper;
        }
      transpose<kDistance / 2>(v);
    }
  }
  template <int kRows, int kLeft>
  static TH_SORT_INLINE void interleave(Vector* v) {
    if constexpr (kLeft > 1) {
      Vector out[kRows];
#pragma GCC unroll 32
      for (int i = 0; i < kRows / 2; ++i) {
        const Vector a = v[i], b = v[i + kRows / 2];
        out[2 * i] = shuffled(
            a, b, [](int lane) constexpr { return lane / 2 + (lane % 2 ? kLanes : 0); });
        out[2 * i + 1] = shuffled(
            a, b, [](int lane) constexpr { return (kLanes + lane) / 2 + (lane % 2 ? kLanes : 0); });
      }
#pragma GCC unroll 32
      for (int i = 0; i < kRows; ++i) v[i] = out[i];
      interleave<kRows, kLeft / 2>(v);
    }
  }
};

}  // namespace thtrain::vector_sort
