// Vectors of complex numbers, and transforms of a few of them. The source of each instruction set defines
// TH_FFT_BYTES of a vector and the namespace TH_FFT_VECTORS, and includes these headers.
#pragma once

#include "compiler/libraries/fft/plan.h"

#ifndef TH_FFT_BYTES
#define TH_FFT_BYTES 16
#define TH_FFT_VECTORS plain_vectors
#endif
#define TH_FFT_INLINE inline __attribute__((always_inline))

namespace thtrain::fft {
inline namespace TH_FFT_VECTORS {

inline constexpr int kBytes = TH_FFT_BYTES;

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
inline constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));

/// A complex number in each lane.
template <class T>
struct Complex {
  Vector<T> re, im;
};

template <class T>
TH_FFT_INLINE Complex<T> operator+(const Complex<T>& a, const Complex<T>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
TH_FFT_INLINE Complex<T> operator-(const Complex<T>& a, const Complex<T>& b) {
  return {a.re - b.re, a.im - b.im};
}
/// a - i b and a + i b
template <class T>
TH_FFT_INLINE Complex<T> minus_i(const Complex<T>& a, const Complex<T>& b) {
  return {a.re + b.im, a.im - b.re};
}
template <class T>
TH_FFT_INLINE Complex<T> plus_i(const Complex<T>& a, const Complex<T>& b) {
  return {a.re - b.im, a.im + b.re};
}
template <class T, class Factor>
TH_FFT_INLINE Complex<T> times(const Complex<T>& a, const Factor& re, const Factor& im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <class T>
TH_FFT_INLINE Complex<T> conjugate(const Complex<T>& a) {
  return {a.re, -a.im};
}

/// Cosines and sines of 2 pi k / R.
template <int R>
struct Circle;
template <>
struct Circle<3> {
  static constexpr double kCos[] = {1, -0.5, -0.5}, kSin[] = {0, 0.86602540378443864676, -0.86602540378443864676};
};
template <>
struct Circle<5> {
  static constexpr double kCos[] = {1, 0.30901699437494742410, -0.80901699437494742410, -0.80901699437494742410,
                                    0.30901699437494742410};
  static constexpr double kSin[] = {0, 0.95105651629515357212, 0.58778525229247312917, -0.58778525229247312917,
                                    -0.95105651629515357212};
};
template <>
struct Circle<7> {
  static constexpr double kCos[] = {1,
                                    0.62348980185873353053,
                                    -0.22252093395631440429,
                                    -0.90096886790241912624,
                                    -0.90096886790241912624,
                                    -0.22252093395631440429,
                                    0.62348980185873353053};
  static constexpr double kSin[] = {0,
                                    0.78183148246802980871,
                                    0.97492791218182360702,
                                    0.43388373911755812048,
                                    -0.43388373911755812048,
                                    -0.97492791218182360702,
                                    -0.78183148246802980871};
};

/// The transform of R numbers, in place.
template <int R, class T>
struct Butterfly {
  static TH_FFT_INLINE void run(Complex<T>* a) {
    constexpr int kHalf = R / 2;
    Complex<T> sum[kHalf + 1], difference[kHalf + 1], zero = a[0];
    const Complex<T> first = a[0];
#pragma GCC unroll 8
    for (int i = 1; i <= kHalf; ++i) {
      sum[i] = a[i] + a[R - i];
      difference[i] = a[i] - a[R - i];
      zero = zero + sum[i];
    }
    a[0] = zero;
#pragma GCC unroll 8
    for (int k = 1; k <= kHalf; ++k) {
      const T cos_1 = static_cast<T>(Circle<R>::kCos[k]), sin_1 = static_cast<T>(Circle<R>::kSin[k]);
      Complex<T> u{first.re + sum[1].re * cos_1, first.im + sum[1].im * cos_1};
      Complex<T> v{difference[1].re * sin_1, difference[1].im * sin_1};
#pragma GCC unroll 8
      for (int i = 2; i <= kHalf; ++i) {
        const T cosine = static_cast<T>(Circle<R>::kCos[i * k % R]), sine = static_cast<T>(Circle<R>::kSin[i * k % R]);
        u = {u.re + sum[i].re * cosine, u.im + sum[i].im * cosine};
        v = {v.re + difference[i].re * sine, v.im + difference[i].im * sine};
      }
      a[k] = minus_i(u, v);
      a[R - k] = plus_i(u, v);
    }
  }
};
template <class T>
struct Butterfly<1, T> {
  static TH_FFT_INLINE void run(Complex<T>*) {}
};
template <class T>
struct Butterfly<2, T> {
  static TH_FFT_INLINE void run(Complex<T>* a) {
    const Complex<T> b = a[1];
    a[1] = a[0] - b;
    a[0] = a[0] + b;
  }
};
template <class T>
struct Butterfly<4, T> {
  static TH_FFT_INLINE void run(Complex<T>* a) {
    const Complex<T> b0 = a[0] + a[2], b1 = a[0] - a[2], b2 = a[1] + a[3], b3 = a[1] - a[3];
    a[0] = b0 + b2;
    a[1] = minus_i(b1, b3);
    a[2] = b0 - b2;
    a[3] = plus_i(b1, b3);
  }
};
template <class T>
struct Butterfly<8, T> {
  static TH_FFT_INLINE void run(Complex<T>* a) {
    constexpr T kRoot = static_cast<T>(0.70710678118654752440);
    Complex<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    Butterfly<4, T>::run(even);
    Butterfly<4, T>::run(odd);
    const Complex<T> b1{(odd[1].re + odd[1].im) * kRoot, (odd[1].im - odd[1].re) * kRoot};
    const Complex<T> b3{(odd[3].im - odd[3].re) * kRoot, (odd[3].re + odd[3].im) * -kRoot};
    a[0] = even[0] + odd[0];
    a[4] = even[0] - odd[0];
    a[1] = even[1] + b1;
    a[5] = even[1] - b1;
    a[2] = minus_i(even[2], odd[2]);
    a[6] = plus_i(even[2], odd[2]);
    a[3] = even[3] + b3;
    a[7] = even[3] - b3;
  }
};

/// The same for any odd radix up to kLargestRadix; roots: cosines, then sines.
template <class T>
inline void odd_butterfly(Complex<T>* a, int radix, const T* roots) {
  Complex<T> sum[kLargestRadix / 2 + 1], difference[kLargestRadix / 2 + 1], zero = a[0];
  const Complex<T> first = a[0];
  const T* const sines = roots + radix;
  const int half = radix / 2;
  for (int i = 1; i <= half; ++i) {
    sum[i] = a[i] + a[radix - i];
    difference[i] = a[i] - a[radix - i];
    zero = zero + sum[i];
  }
  a[0] = zero;
  for (int k = 1; k <= half; ++k) {
    Complex<T> u = first, v{};
    int at = 0;
    for (int i = 1; i <= half; ++i) {
      at += k;
      if (at >= radix) at -= radix;
      u = {u.re + sum[i].re * roots[at], u.im + sum[i].im * roots[at]};
      v = {v.re + difference[i].re * sines[at], v.im + difference[i].im * sines[at]};
    }
    a[k] = minus_i(u, v);
    a[radix - k] = plus_i(u, v);
  }
}

}  // namespace TH_FFT_VECTORS
}  // namespace thtrain::fft
