// Transforms of columns and rows by passes.
#pragma once

#include "compiler/libraries/fft/butterflies.h"
#include "compiler/libraries/fft/engine.h"
#include "compiler/libraries/fft/passes.h"

namespace thtrain::fft {
inline namespace TH_FFT_VECTORS {

template <class T>
TH_FFT_INLINE Complex<T> scaled(const Complex<T>& a, T scale) {
  return {a.re * scale, a.im * scale};
}

template <bool kIsInverse, class T>
inline void columns(const PassList<T>& list, const T* in, T* out, long stride, long count, T scale, T* work) {
  auto* const block = reinterpret_cast<Complex<T>*>(work);
  const bool is_whole = count == kLanes<T>;
  if (is_whole)
    first_pass(list, block, [&](long j) { return exchanged<kIsInverse>(load_numbers(in + 2 * j * stride)); });
  else
    for (long j = 0; j < list.n; ++j) block[j] = exchanged<kIsInverse>(load_numbers(in + 2 * j * stride, count));
  if (!is_whole) {
    passes(list, 0, list.count, block, list.n);
    for (long k = 0; k < list.n; ++k)
      store_numbers(out + 2 * k * stride, exchanged<kIsInverse>(scaled(block[list.position[k]], scale)), count);
    return;
  }
  middle_passes(list, block);
  last_pass(list, block, [&](long k, const Complex<T>& value) {
    store_numbers(out + 2 * k * stride, exchanged<kIsInverse>(scaled(value, scale)));
  });
}

/// One number of each of `count` rows from `at` on, kLanes of them: as vectors of the rows.
template <class T>
TH_FFT_INLINE void load_square(const T* in, long step, long at, long count, Complex<T>* out) {
  Vector<T> re[kLanes<T>], im[kLanes<T>];
#pragma GCC unroll 16
  for (int row = 0; row < kLanes<T>; ++row) {
    const Complex<T> value = load_numbers(in + (row < count ? row : count - 1) * step + 2 * at);
    re[row] = value.re;
    im[row] = value.im;
  }
  transpose<T>(re);
  transpose<T>(im);
#pragma GCC unroll 16
  for (int j = 0; j < kLanes<T>; ++j) out[j] = {re[j], im[j]};
}
template <class T>
TH_FFT_INLINE void store_square(T* out, long step, long at, long count, const Complex<T>* in) {
  Vector<T> re[kLanes<T>], im[kLanes<T>];
#pragma GCC unroll 16
  for (int j = 0; j < kLanes<T>; ++j) {
    re[j] = in[j].re;
    im[j] = in[j].im;
  }
  transpose<T>(re);
  transpose<T>(im);
#pragma GCC unroll 16
  for (int row = 0; row < kLanes<T>; ++row)
    if (row < count) store_numbers(out + row * step + 2 * at, Complex<T>{re[row], im[row]});
}

/// The pair k, n - k of transforms of n complex numbers as those of 2 n real ones.
template <class T, class Factor>
TH_FFT_INLINE void halves_of_pair(Complex<T>& a, Complex<T>& b, const Factor& re, const Factor& im) {
  const T half = T(0.5);
  const Complex<T> c = conjugate(b), even{(a.re + c.re) * half, (a.im + c.im) * half},
                   odd{(a.im - c.im) * half, (c.re - a.re) * half}, turned = times(odd, re, im);
  a = even + turned;
  b = conjugate(even - turned);
}
template <class T, class Factor>
TH_FFT_INLINE void pair_of_halves(Complex<T>& a, Complex<T>& b, const Factor& re, const Factor& im) {
  const Complex<T> c = conjugate(b), even = a + c, odd = a - c;
  const Complex<T> turned{odd.re * re + odd.im * im, odd.im * re - odd.re * im};
  a = plus_i(even, turned);
  b = conjugate(minus_i(even, turned));
}

template <class T>
inline void rows(Kind kind, const PassList<T>& list, const T* halves, const T* in, T* out, long in_step, long out_step,
                 long count, bool inverse, T scale, T* work) {
  auto* const block = reinterpret_cast<Complex<T>*>(work);
  constexpr long kSquare = kLanes<T>;
  const long n = list.n, read = kind == Kind::kHalfToReal ? n + 1 : n, written = kind == Kind::kRealToHalf ? n + 1 : n;
  for (long j = 0; j + kSquare <= read; j += kSquare) load_square(in, in_step, j, count, block + j);
  for (long j = read / kSquare * kSquare; j < read; ++j) {
    T re[kSquare], im[kSquare];
    for (long row = 0; row < kSquare; ++row) {
      const T* const number = in + (row < count ? row : count - 1) * in_step + 2 * j;
      re[row] = number[0];
      im[row] = number[1];
    }
    block[j] = {load_vector(static_cast<const T*>(re)), load_vector(static_cast<const T*>(im))};
  }
  if (kind == Kind::kHalfToReal) {
    const Vector<T> first = block[0].re, last = block[n].re;
    for (long k = 1; 2 * k <= n; ++k) {
      Complex<T> a = block[k], b = block[n - k];
      pair_of_halves(a, b, halves[2 * k], halves[2 * k + 1]);
      block[n - k] = b;
      block[k] = a;
    }
    block[0] = {first + last, first - last};
  }
  if (inverse)
    for (long j = 0; j < n; ++j) block[j] = exchanged<true>(block[j]);
  passes(list, 0, list.count, block, n);
  if (kind == Kind::kRealToHalf) {
    const Complex<T> zero = block[0];
    for (long k = 1; 2 * k <= n; ++k) {
      const long at = list.position[k], other = list.position[n - k];
      Complex<T> a = block[at], b = block[other];
      halves_of_pair(a, b, halves[2 * k], halves[2 * k + 1]);
      block[other] = b;
      block[at] = a;
    }
    block[0] = {zero.re + zero.im, Vector<T>{}};
    block[n] = {zero.re - zero.im, Vector<T>{}};
  }
  auto result = [&](long k) {
    const Complex<T> value = scaled(block[k < n ? list.position[k] : n], scale);
    return inverse ? exchanged<true>(value) : value;
  };
  for (long k = 0; k + kSquare <= written; k += kSquare) {
    Complex<T> square[kSquare];
#pragma GCC unroll 16
    for (long i = 0; i < kSquare; ++i) square[i] = result(k + i);
    store_square(out, out_step, k, count, square);
  }
  for (long k = written / kSquare * kSquare; k < written; ++k) {
    const Complex<T> value = result(k);
    for (long row = 0; row < count; ++row) {
      out[row * out_step + 2 * k] = value.re[row];
      out[row * out_step + 2 * k + 1] = value.im[row];
    }
  }
}

template <bool kIsInverse, class T>
inline void row_columns(const PassList<T>& list, long n2, const T* factors, const T* of_lanes, const T* in, T* sweep,
                        long first, long last, T* work) {
  constexpr long kSquare = kLanes<T>;
  auto* const block = reinterpret_cast<Complex<T>*>(work);
  auto* const out = reinterpret_cast<Complex<T>*>(sweep);
  for (long c = first; c < last; ++c) {
    const long count = n2 - c * kSquare < kSquare ? n2 - c * kSquare : kSquare;
    const T* const from = in + 2 * c * kSquare;
    if (count == kSquare) {
      first_pass(list, block, [&](long j) {
        const T* const number = from + 2 * j * n2;
        __builtin_prefetch(number + 2 * kSquare);
        __builtin_prefetch(number + 3 * kSquare);
        return exchanged<kIsInverse>(load_numbers(number));
      });
      later_passes(list, block);
    } else {
      for (long j = 0; j < list.n; ++j) block[j] = exchanged<kIsInverse>(load_numbers(from + 2 * j * n2, count));
      passes(list, 0, list.count, block, list.n);
    }
    for (long at = 0; at < list.n; at += kSquare) {
      Vector<T> re[kSquare], im[kSquare];
#pragma GCC unroll 16
      for (int i = 0; i < kSquare; ++i) {
        const long k = at + i < list.n ? at + i : list.n - 1;
        Complex<T> value = block[list.position[k]];
        if (of_lanes) {
          const T* const of_block = factors + 2 * (c * list.n + k);
          value = times(value, of_block[0], of_block[1]);
          const T* const of_lane = of_lanes + 2 * kSquare * k;
          value = times(value, load_vector(of_lane), load_vector(of_lane + kSquare));
        } else {
          const T* const factor = factors + 2 * kSquare * (c * list.n + k);
          value = times(value, load_vector(factor), load_vector(factor + kSquare));
        }
        re[i] = value.re;
        im[i] = value.im;
      }
      transpose<T>(re);
      transpose<T>(im);
      Complex<T>* const to = out + at / kSquare * n2 + c * kSquare;
      if (count == kSquare) {
#pragma GCC unroll 16
        for (int i = 0; i < kSquare; ++i) to[i] = {re[i], im[i]};
      } else {
        for (int i = 0; i < count; ++i) to[i] = {re[i], im[i]};
      }
    }
  }
}

template <bool kIsInverse, class T>
inline void row_rows(const PassList<T>& list, long n1, const T* sweep, T* out, long first, long last, T scale,
                     T* work) {
  constexpr long kSquare = kLanes<T>;
  auto* const block = reinterpret_cast<Complex<T>*>(work);
  for (long b = first; b < last; ++b) {
    const auto* const in = reinterpret_cast<const Complex<T>*>(sweep) + b * list.n;
    const long count = n1 - b * kSquare < kSquare ? n1 - b * kSquare : kSquare;
    T* const to = out + 2 * b * kSquare;
    first_pass(list, block, [&](long j) { return in[j]; });
    middle_passes(list, block);
    if (count == kSquare)
      last_pass(list, block, [&](long k, const Complex<T>& value) {
        store_numbers(to + 2 * k * n1, exchanged<kIsInverse>(scaled(value, scale)));
      });
    else
      last_pass(list, block, [&](long k, const Complex<T>& value) {
        store_numbers(to + 2 * k * n1, exchanged<kIsInverse>(scaled(value, scale)), count);
      });
  }
}

/// f(a pair of numbers, their factor) for pairs k, n - k: vectors, then lanes of one.
template <class T, class F>
inline void each_pair(long n, const T* halves, const T* in, T* out, long first, long last, F&& f) {
  constexpr long kStep = kLanes<T>;
  long k = first < 1 ? 1 : first;
  for (; k + kStep <= last && 2 * (k + kStep) <= n; k += kStep) {
    Complex<T> a = load_numbers(in + 2 * k), b = load_numbers(in + 2 * (n - k - kStep + 1));
    b = {reversed<T>(b.re), reversed<T>(b.im)};
    const Complex<T> factor = load_numbers(halves + 2 * k);
    f(a, b, factor.re, factor.im);
    store_numbers(out + 2 * k, a);
    store_numbers(out + 2 * (n - k - kStep + 1), Complex<T>{reversed<T>(b.re), reversed<T>(b.im)});
  }
  for (; k < last && 2 * k <= n; ++k) {
    Complex<T> a{Vector<T>{} + in[2 * k], Vector<T>{} + in[2 * k + 1]},
        b{Vector<T>{} + in[2 * (n - k)], Vector<T>{} + in[2 * (n - k) + 1]};
    f(a, b, halves[2 * k], halves[2 * k + 1]);
    out[2 * (n - k)] = b.re[0];
    out[2 * (n - k) + 1] = b.im[0];
    out[2 * k] = a.re[0];
    out[2 * k + 1] = a.im[0];
  }
}

template <class T>
inline void halves_of(long n, const T* halves, T* values, long first, long last) {
  if (first == 0) {
    const T re = values[0], im = values[1];
    values[0] = re + im;
    values[2 * n] = re - im;
    values[1] = values[2 * n + 1] = 0;
  }
  each_pair(n, halves, values, values, first, last,
            [](Complex<T>& a, Complex<T>& b, const auto& re, const auto& im) { halves_of_pair(a, b, re, im); });
}
template <class T>
inline void from_halves(long n, const T* halves, const T* in, T* out, long first, long last) {
  if (first == 0) {
    out[0] = in[0] + in[2 * n];
    out[1] = in[0] - in[2 * n];
  }
  each_pair(n, halves, in, out, first, last,
            [](Complex<T>& a, Complex<T>& b, const auto& re, const auto& im) { pair_of_halves(a, b, re, im); });
}

template <class T>
inline void multiply(long n, const T* a, bool a_is_conjugate, const T* b, T scale, T* out) {
  long i = 0;
  const T sign = a_is_conjugate ? T(-1) : T(1);
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const Complex<T> x = load_numbers(a + 2 * i), y = load_numbers(b + 2 * i);
    store_numbers(out + 2 * i, scaled(times(y, x.re, x.im * sign), scale));
  }
  for (; i < n; ++i) {
    const T re = a[2 * i], im = a[2 * i + 1] * sign, x = b[2 * i], y = b[2 * i + 1];
    out[2 * i] = (re * x - im * y) * scale;
    out[2 * i + 1] = (re * y + im * x) * scale;
  }
}

template <class T>
inline const Engine<T>* engine() {
  static constexpr Engine<T> all{
      kLanes<T>,
      [](const PassList<T>& list, const T* in, T* out, long stride, long count, bool inverse, T scale, T* work) {
        return inverse ? columns<true, T>(list, in, out, stride, count, scale, work)
                       : columns<false, T>(list, in, out, stride, count, scale, work);
      },
      &rows<T>,
      [](const PassList<T>& list, long n2, const T* factors, const T* of_lanes, const T* in, T* sweep, long first,
         long last, bool inverse, T* work) {
        return inverse ? row_columns<true, T>(list, n2, factors, of_lanes, in, sweep, first, last, work)
                       : row_columns<false, T>(list, n2, factors, of_lanes, in, sweep, first, last, work);
      },
      [](const PassList<T>& list, long n1, const T* sweep, T* out, long first, long last, bool inverse, T scale,
         T* work) {
        return inverse ? row_rows<true, T>(list, n1, sweep, out, first, last, scale, work)
                       : row_rows<false, T>(list, n1, sweep, out, first, last, scale, work);
      },
      &halves_of<T>,
      &from_halves<T>,
      &multiply<T>};
  return &all;
}

}  // namespace TH_FFT_VECTORS
}  // namespace thtrain::fft
