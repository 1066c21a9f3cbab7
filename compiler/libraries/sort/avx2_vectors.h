// Vectors of 32 bytes for sorting.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>

#include <array>
#include <cstdint>
#include <limits>

#include "compiler/libraries/sort/engine.h"

namespace thtrain::vector_sort::avx2 {

// For each mask of kElements the bytes' numbers of 32-bit parts: those of elements whose bit is set first.
template <int kElements>
constexpr std::array<uint64_t, 1 << kElements> orders() {
  std::array<uint64_t, 1 << kElements> out{};
  constexpr int kParts = 8 / kElements;
  for (int mask = 0; mask < 1 << kElements; ++mask) {
    int at = 0;
    for (int is_low : {1, 0})
      for (int element = 0; element < kElements; ++element)
        if ((mask >> element & 1) == is_low)
          for (int part = 0; part < kParts; ++part)
            out[static_cast<size_t>(mask)] |= static_cast<uint64_t>(element * kParts + part) << (8 * at++);
  }
  return out;
}
inline constexpr std::array<uint64_t, 256> kOrders8 = orders<8>();
inline constexpr std::array<uint64_t, 16> kOrders4 = orders<4>();
// From kFirst[8 - n] on n numbers whose sign is set, then others.
alignas(64) inline constexpr int32_t kFirst[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

inline __attribute__((always_inline)) __m256i order_of(uint64_t order) {
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(order)));
}
inline __attribute__((always_inline)) __m256i first_parts(int parts) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kFirst + 8 - parts));
}

template <class T>
struct Vectors;

template <>
struct Vectors<float> {
  using Element = float;
  using Vector = __m256;
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 8;
  static constexpr float kMost = std::numeric_limits<float>::infinity();
  static Vector splat(float x) { return _mm256_set1_ps(x); }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static Vector least(Vector a, Vector b) { return _mm256_min_ps(a, b); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_ps(a, b); }
  static Vector load_first(const float* p, int n) {
    const __m256i first = first_parts(n);
    return _mm256_blendv_ps(splat(kMost), _mm256_maskload_ps(p, first), _mm256_castsi256_ps(first));
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(v, pivot, kOrEqual ? _CMP_LE_OQ : _CMP_LT_OQ));
    const Vector parted = _mm256_permutevar8x32_ps(v, order_of(kOrders8[static_cast<size_t>(mask)]));
    return {parted, parted, __builtin_popcount(static_cast<unsigned>(mask))};
  }
};

template <>
struct Vectors<double> {
  using Element = double;
  using Vector = __m256d;
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 4;
  static constexpr double kMost = std::numeric_limits<double>::infinity();
  static Vector splat(double x) { return _mm256_set1_pd(x); }
  static Vector load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static Vector least(Vector a, Vector b) { return _mm256_min_pd(a, b); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_pd(a, b); }
  static Vector load_first(const double* p, int n) {
    const __m256i first = first_parts(2 * n);
    return _mm256_blendv_pd(splat(kMost), _mm256_maskload_pd(p, first), _mm256_castsi256_pd(first));
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const int mask = _mm256_movemask_pd(_mm256_cmp_pd(v, pivot, kOrEqual ? _CMP_LE_OQ : _CMP_LT_OQ));
    const __m256 parted = _mm256_permutevar8x32_ps(_mm256_castpd_ps(v), order_of(kOrders4[static_cast<size_t>(mask)]));
    return {_mm256_castps_pd(parted), _mm256_castps_pd(parted), __builtin_popcount(static_cast<unsigned>(mask))};
  }
};

template <>
struct Vectors<int32_t> {
  using Element = int32_t;
  typedef int32_t Vector __attribute__((vector_size(32)));
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 8;
  static constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  static Vector splat(int32_t x) { return (Vector)_mm256_set1_epi32(x); }
  static Vector load(const int32_t* p) { return (Vector)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(int32_t* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)v); }
  static Vector least(Vector a, Vector b) { return (Vector)_mm256_min_epi32((__m256i)a, (__m256i)b); }
  static Vector greatest(Vector a, Vector b) { return (Vector)_mm256_max_epi32((__m256i)a, (__m256i)b); }
  static Vector load_first(const int32_t* p, int n) {
    const __m256i first = first_parts(n);
    return (Vector)_mm256_blendv_epi8((__m256i)splat(kMost), _mm256_maskload_epi32(p, first), first);
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const __m256i a = (__m256i)(kOrEqual ? v : pivot), b = (__m256i)(kOrEqual ? pivot : v);
    const int above = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b))),
              mask = kOrEqual ? above ^ 0xff : above;
    const __m256i parted = _mm256_permutevar8x32_epi32((__m256i)v, order_of(kOrders8[static_cast<size_t>(mask)]));
    return {(Vector)parted, (Vector)parted, __builtin_popcount(static_cast<unsigned>(mask))};
  }
};

template <>
struct Vectors<int64_t> {
  using Element = int64_t;
  using Vector = __m256i;
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 4;
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  static Vector splat(int64_t x) { return _mm256_set1_epi64x(x); }
  static Vector load(const int64_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(int64_t* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Vector least(Vector a, Vector b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)); }
  static Vector load_first(const int64_t* p, int n) {
    const __m256i first = first_parts(2 * n);
    return _mm256_blendv_epi8(splat(kMost), _mm256_maskload_epi64(reinterpret_cast<const long long*>(p), first), first);
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const __m256i a = kOrEqual ? v : pivot, b = kOrEqual ? pivot : v;
    const int above = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(a, b))),
              mask = kOrEqual ? above ^ 0xf : above;
    const __m256i parted = _mm256_permutevar8x32_epi32(v, order_of(kOrders4[static_cast<size_t>(mask)]));
    return {parted, parted, __builtin_popcount(static_cast<unsigned>(mask))};
  }
};

}  // namespace thtrain::vector_sort::avx2
#endif
