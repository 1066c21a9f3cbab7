// Passes over vectors of complex numbers, and the ways in and out of memory.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "compiler/libraries/fft/butterflies.h"
#include "compiler/libraries/fft/engine.h"

namespace thtrain::fft {
inline namespace TH_FFT_VECTORS {

/// Vectors that stay in the first cache.
inline constexpr long kBytesOfPasses = 16 << 10;

template <int R, bool kIsTwiddled, class T, class Load, class Store>
TH_FFT_INLINE void butterflies(long stride, const T* factors, Load&& load, Store&& store) {
  for (long j = 0; j < stride; ++j) {
    Complex<T> a[R];
#pragma GCC unroll 8
    for (int q = 0; q < R; ++q) a[q] = load(j + q * stride);
    Butterfly<R, T>::run(a);
    store(j, a[0]);
#pragma GCC unroll 8
    for (int p = 1; p < R; ++p) {
      if constexpr (kIsTwiddled)
        store(j + p * stride, times(a[p], factors[2 * p - 2], factors[2 * p - 1]));
      else
        store(j + p * stride, a[p]);
    }
    factors += 2 * (R - 1);
  }
}

template <class F>
TH_FFT_INLINE void with_radix(int radix, F&& f) {
  switch (radix) {
    case 1:
      return f(std::integral_constant<int, 1>());
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 5:
      return f(std::integral_constant<int, 5>());
    case 7:
      return f(std::integral_constant<int, 7>());
    case 8:
      return f(std::integral_constant<int, 8>());
    default:
      return;
  }
}

/// Pass i of a block of `length`, in place.
template <class T>
inline void pass(const PassList<T>& list, int i, Complex<T>* block, long length) {
  const int radix = list.radices[i];
  const long stride = length / radix;
  if (radix > 8) {
    const T* factors = list.factors[i];
    for (long j = 0; j < stride; ++j) {
      Complex<T> a[kLargestRadix];
      for (int q = 0; q < radix; ++q) a[q] = block[j + q * stride];
      odd_butterfly(a, radix, list.roots[i]);
      block[j] = a[0];
      for (int p = 1; p < radix; ++p) block[j + p * stride] = times(a[p], factors[2 * p - 2], factors[2 * p - 1]);
      factors += 2 * (radix - 1);
    }
    return;
  }
  auto load = [&](long at) { return block[at]; };
  auto store = [&](long at, const Complex<T>& value) { block[at] = value; };
  with_radix(radix, [&](auto constant) {
    constexpr int R = constant.value;
    if constexpr (R > 1) {
      if (stride > 1)
        butterflies<R, true, T>(stride, list.factors[i], load, store);
      else
        butterflies<R, false, T>(1, list.factors[i], load, store);
    }
  });
}

/// Passes from ... to - 1 of a block, in place; its parts are finished one after the other where it leaves the cache.
template <class T>
inline void passes(const PassList<T>& list, int from, int to, Complex<T>* block, long length) {
  if (from >= to) return;
  const long part = length / list.radices[from];
  pass(list, from, block, length);
  if (length * static_cast<long>(sizeof(Complex<T>)) > kBytesOfPasses) {
    for (long at = 0; at < length && from + 1 < to; at += part) passes(list, from + 1, to, block + at, part);
    return;
  }
  long size = part;
  for (int i = from + 1; i < to; ++i) {
    for (long at = 0; at < length; at += size) pass(list, i, block + at, size);
    size /= list.radices[i];
  }
}

/// The first pass, of values load(j).
template <class T, class Load>
inline void first_pass(const PassList<T>& list, Complex<T>* out, Load load) {
  auto store = [&](long at, const Complex<T>& value) { out[at] = value; };
  with_radix(list.radices[0], [&](auto constant) {
    butterflies<constant.value, true, T>(list.n / constant.value, list.factors[0], load, store);
  });
}
/// The last pass: store(k, result).
template <class T, class Store>
inline void last_pass(const PassList<T>& list, const Complex<T>* in, Store store) {
  with_radix(list.radices[list.count - 1], [&](auto constant) {
    constexpr int R = constant.value;
    const long blocks = list.n / R;
    for (long block = 0; block < blocks; ++block) {
      const long first = list.first_of_block[block];
      butterflies<R, false, T>(
          1, static_cast<const T*>(nullptr), [&](long q) { return in[block * R + q]; },
          [&](long p, const Complex<T>& value) { store(first + p * blocks, value); });
    }
  });
}
/// All but the last pass, and the one before it: after first_pass, before last_pass.
template <class T>
inline void middle_passes(const PassList<T>& list, Complex<T>* block) {
  const long part = list.n / list.radices[0];
  for (int i = 0; i < list.radices[0] && list.count > 2; ++i) passes(list, 1, list.count - 1, block + i * part, part);
}
/// All passes after the first one.
template <class T>
inline void later_passes(const PassList<T>& list, Complex<T>* block) {
  const long part = list.n / list.radices[0];
  for (int i = 0; i < list.radices[0]; ++i) passes(list, 1, list.count, block + i * part, part);
}

// ---- memory ----

template <class T>
TH_FFT_INLINE Vector<T> load_vector(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T>::Unaligned*>(from);
}
template <class T>
TH_FFT_INLINE void store_vector(T* to, const Vector<T>& value) {
  *reinterpret_cast<typename VectorOf<T>::Unaligned*>(to) = value;
}

template <class T, class Order>
TH_FFT_INLINE Vector<T> shuffled(const Vector<T>& a, const Vector<T>& b, Order order) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, order(i)...);
  }
  (std::make_integer_sequence<int, kLanes<T>>());
}

/// Complex numbers that lie one after the other: real parts, imaginary parts.
template <class T>
TH_FFT_INLINE Complex<T> load_numbers(const T* from) {
  const Vector<T> a = load_vector(from), b = load_vector(from + kLanes<T>);
  return {shuffled<T>(
              a, b, [](int i) constexpr { return 2 * i; }),
          shuffled<T>(
              a, b, [](int i) constexpr { return 2 * i + 1; })};
}
template <class T>
TH_FFT_INLINE void store_numbers(T* to, const Complex<T>& value) {
  constexpr int n = kLanes<T>;
  store_vector(to, shuffled<T>(
                       value.re, value.im, [](int i) constexpr { return i / 2 + i % 2 * n; }));
  store_vector(to + n, shuffled<T>(
                           value.re, value.im, [](int i) constexpr { return (n + i) / 2 + i % 2 * n; }));
}
/// `count` of them, of less than a vector.
template <class T>
inline Complex<T> load_numbers(const T* from, long count) {
  T all[2 * kLanes<T>] = {};
  for (long i = 0; i < 2 * count; ++i) all[i] = from[i];
  return load_numbers(static_cast<const T*>(all));
}
template <class T>
inline void store_numbers(T* to, const Complex<T>& value, long count) {
  T all[2 * kLanes<T>];
  store_numbers(static_cast<T*>(all), value);
  for (long i = 0; i < 2 * count; ++i) to[i] = all[i];
}
template <bool kIsExchanged, class T>
TH_FFT_INLINE Complex<T> exchanged(const Complex<T>& a) {
  if constexpr (kIsExchanged)
    return {a.im, a.re};
  else
    return a;
}
template <class T>
TH_FFT_INLINE Vector<T> reversed(const Vector<T>& a) {
  return shuffled<T>(
      a, a, [](int i) constexpr { return kLanes<T> - 1 - i; });
}

/// The square of rows that are given, as columns.
template <int kStep, class T>
TH_FFT_INLINE void transpose_step(Vector<T>* rows) {
  constexpr int n = kLanes<T>;
  if constexpr (kStep < n) {
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i)
      if ((i & kStep) == 0) {
        const Vector<T> a = rows[i], b = rows[i + kStep];
        rows[i] = shuffled<T>(
            a, b, [](int k) constexpr { return k & kStep ? n + k - kStep : k; });
        rows[i + kStep] = shuffled<T>(
            a, b, [](int k) constexpr { return k & kStep ? n + k : k + kStep; });
      }
    transpose_step<2 * kStep, T>(rows);
  }
}
template <class T>
TH_FFT_INLINE void transpose(Vector<T>* rows) {
  transpose_step<1, T>(rows);
}

}  // namespace TH_FFT_VECTORS
}  // namespace thtrain::fft
