// Vectors of 64 bytes for sorting.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "compiler/libraries/sort/engine.h"

namespace thtrain::vector_sort::avx512 {

template <class Vector, size_t... kLane>
inline __attribute__((always_inline)) Vector backwards(Vector v, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(sizeof...(kLane) - 1 - kLane))...);
}

// Stores of what an instruction compresses into memory are slow where they are microcode (AMD's Zen 4): parts are
// compressed in registers, and the upper one is turned round, which brings it to the end.
template <class T>
struct Vectors;

template <>
struct Vectors<float> {
  using Element = float;
  using Vector = __m512;
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 16;
  static constexpr float kMost = std::numeric_limits<float>::infinity();
  static Vector splat(float x) { return _mm512_set1_ps(x); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector least(Vector a, Vector b) { return _mm512_min_ps(a, b); }
  static Vector greatest(Vector a, Vector b) { return _mm512_max_ps(a, b); }
  static Vector load_first(const float* p, int n) {
    return _mm512_mask_loadu_ps(splat(kMost), static_cast<__mmask16>((1u << n) - 1), p);
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const __mmask16 low = _mm512_cmp_ps_mask(v, pivot, kOrEqual ? _CMP_LE_OQ : _CMP_LT_OQ);
    return {_mm512_maskz_compress_ps(low, v),
            backwards(_mm512_maskz_compress_ps(_knot_mask16(low), v), std::make_index_sequence<kLanes>()),
            __builtin_popcount(low)};
  }
};

template <>
struct Vectors<int32_t> {
  using Element = int32_t;
  typedef int32_t Vector __attribute__((vector_size(64)));
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 16;
  static constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  static Vector splat(int32_t x) { return (Vector)_mm512_set1_epi32(x); }
  static Vector load(const int32_t* p) { return (Vector)_mm512_loadu_si512(p); }
  static void store(int32_t* p, Vector v) { _mm512_storeu_si512(p, (__m512i)v); }
  static Vector least(Vector a, Vector b) { return (Vector)_mm512_min_epi32((__m512i)a, (__m512i)b); }
  static Vector greatest(Vector a, Vector b) { return (Vector)_mm512_max_epi32((__m512i)a, (__m512i)b); }
  static Vector load_first(const int32_t* p, int n) {
    return (Vector)_mm512_mask_loadu_epi32((__m512i)splat(kMost), static_cast<__mmask16>((1u << n) - 1), p);
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const __mmask16 low = _mm512_cmp_epi32_mask((__m512i)v, (__m512i)pivot, kOrEqual ? _MM_CMPINT_LE : _MM_CMPINT_LT);
    return {(Vector)_mm512_maskz_compress_epi32(low, (__m512i)v),
            backwards((Vector)_mm512_maskz_compress_epi32(_knot_mask16(low), (__m512i)v),
                      std::make_index_sequence<kLanes>()),
            __builtin_popcount(low)};
  }
};

template <>
struct Vectors<double> {
  using Element = double;
  using Vector = __m512d;
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 8;
  static constexpr double kMost = std::numeric_limits<double>::infinity();
  static Vector splat(double x) { return _mm512_set1_pd(x); }
  static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static Vector least(Vector a, Vector b) { return _mm512_min_pd(a, b); }
  static Vector greatest(Vector a, Vector b) { return _mm512_max_pd(a, b); }
  static Vector load_first(const double* p, int n) {
    return _mm512_mask_loadu_pd(splat(kMost), static_cast<__mmask8>((1u << n) - 1), p);
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const __mmask8 low = _mm512_cmp_pd_mask(v, pivot, kOrEqual ? _CMP_LE_OQ : _CMP_LT_OQ);
    return {_mm512_maskz_compress_pd(low, v),
            backwards(_mm512_maskz_compress_pd(_knot_mask8(low), v), std::make_index_sequence<kLanes>()),
            __builtin_popcount(low)};
  }
};

template <>
struct Vectors<int64_t> {
  using Element = int64_t;
  using Vector = __m512i;
  struct Parted {
    Vector low, high;
    int lows;
  };
  static constexpr int kLanes = 8;
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  static Vector splat(int64_t x) { return _mm512_set1_epi64(x); }
  static Vector load(const int64_t* p) { return _mm512_loadu_si512(p); }
  static void store(int64_t* p, Vector v) { _mm512_storeu_si512(p, v); }
  static Vector least(Vector a, Vector b) { return _mm512_min_epi64(a, b); }
  static Vector greatest(Vector a, Vector b) { return _mm512_max_epi64(a, b); }
  static Vector load_first(const int64_t* p, int n) {
    return _mm512_mask_loadu_epi64(splat(kMost), static_cast<__mmask8>((1u << n) - 1), p);
  }
  template <bool kOrEqual>
  static Parted part(Vector v, Vector pivot) {
    const __mmask8 low = _mm512_cmp_epi64_mask(v, pivot, kOrEqual ? _MM_CMPINT_LE : _MM_CMPINT_LT);
    return {_mm512_maskz_compress_epi64(low, v),
            backwards(_mm512_maskz_compress_epi64(_knot_mask8(low), v), std::make_index_sequence<kLanes>()),
            __builtin_popcount(low)};
  }
};

}  // namespace thtrain::vector_sort::avx512
#endif
