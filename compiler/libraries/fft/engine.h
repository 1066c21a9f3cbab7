// Transforms by vector instructions: what the source of each instruction set offers.
#pragma once

#include <cstdint>

#include "compiler/libraries/fft/plan.h"

namespace thtrain::fft {

/// What code for one instruction set reads of Passes and RowPlan: pointers alone, so that no template of the library is
/// compiled for it.
template <class T>
struct PassList {
  long n;
  int count;
  int radices[64];
  const T* factors[64];
  const T* roots[64];
  const int32_t *position, *first_of_block;
};
template <class T>
PassList<T> list_of(const Passes<T>& passes) {
  PassList<T> out{};
  out.n = passes.n;
  out.count = static_cast<int>(passes.radices.size());
  for (size_t i = 0; i < passes.radices.size(); ++i) {
    out.radices[i] = passes.radices[i];
    out.factors[i] = passes.factors[i].data();
    out.roots[i] = passes.roots[i].data();
  }
  out.position = passes.position.data();
  out.first_of_block = passes.first_of_block.data();
  return out;
}

enum class Kind { kComplex, kRealToHalf, kHalfToReal };

/// All arrays are of pairs of real and imaginary part. An inverse transform has the other sign of the exponent; each
/// result is multiplied by `scale`. `work`: aligned to a vector.
template <class T>
struct Engine {
  long lanes;
  /// Of `count` columns, one in each lane: number j of column i is in[2 (j stride + i)]. Work: 2 n lanes. May be in
  /// place.
  void (*columns)(const PassList<T>& list, const T* in, T* out, long stride, long count, bool inverse, T scale,
                  T* work);
  /// Of `count` rows, one in each lane. Of 2 n real numbers (kRealToHalf, kHalfToReal) as n complex ones, with `halves`
  /// e^(-2 pi i k / 2n), k <= n / 2. Steps between rows in elements of T. Work: 2 (n + 1) lanes. May be in place.
  void (*rows)(Kind kind, const PassList<T>& list, const T* halves, const T* in, T* out, long in_step, long out_step,
               long count, bool inverse, T scale, T* work);
  /// The first sweep over a row, for some blocks of columns; sweep: 2 lanes n2 for each block of rows. Work: 2 n1
  /// lanes.
  void (*row_columns)(const PassList<T>& list, long n2, const T* factors, const T* of_lanes, const T* in, T* sweep,
                      long first, long last, bool inverse, T* work);
  /// The second one, for some blocks of rows. Work: 2 n2 lanes.
  void (*row_rows)(const PassList<T>& list, long n1, const T* sweep, T* out, long first, long last, bool inverse,
                   T scale, T* work);
  /// The first half of the spectrum of 2 n real numbers, n + 1 results, from their transform as n complex numbers; for
  /// the pairs k, n - k with k in [first, last), last <= n / 2 + 1. In place.
  void (*halves_of)(long n, const T* halves, T* values, long first, long last);
  /// Back: the n complex numbers whose inverse transform has the 2 n real ones.
  void (*from_halves)(long n, const T* halves, const T* in, T* out, long first, long last);
  /// out = a b; of conjugates where asked.
  void (*multiply)(long n, const T* a, bool a_is_conjugate, const T* b, T scale, T* out);
};

template <class T>
const Engine<T>* avx512_engine();  // null where it was not compiled
template <class T>
const Engine<T>* avx2_engine();
template <class T>
const Engine<T>* plain_engine();

}  // namespace thtrain::fft
