// What the calls of LAPACK share: dtypes, threads, transposes.
#pragma once

#include <algorithm>
#include <atomic>
#include <complex>
#include <type_traits>
#include <utility>

#include "compiler/base/str.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/libraries/threads.h"

namespace thtrain {

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
/// What programs see of T: a complex number is two of these.
template <class T>
using Real = typename RealOf<T>::Type;

template <class T>
T* elements(Real<T>* parts) {
  return reinterpret_cast<T*>(parts);
}
template <class T>
const T* elements(const Real<T>* parts) {
  return reinterpret_cast<const T*>(parts);
}

/// The first letter of LAPACK's names.
template <class T>
const char* lapack_letter() {
  return std::is_same_v<T, float>                 ? "s"
         : std::is_same_v<T, double>              ? "d"
         : std::is_same_v<T, std::complex<float>> ? "c"
                                                  : "z";
}

/// `function` for programs; `entries` finds what it calls, when a program is made, where an exception may pass.
template <class Entries, class Function>
FindLibraryFunction lapack_function(Entries* entries, Function* function) {
  return [entries, function] {
    entries();
    return LibraryImplementation{reinterpret_cast<void*>(function), str(blas().version, " ", blas().corename)};
  };
}

/// Calls f(first, last) for parts of [0, count), on the threads of the context, `work` multiply-adds for each number.
template <class F>
void share(const ThContext* context, long count, double work, const F& f) {
  // A piece for a thread: as for matrix products (libraries/matrix_products.cpp).
  constexpr double kWorkOfPiece = 125e3;
  const long grain = std::max(1L, static_cast<long>(kWorkOfPiece / std::max(work, 1.0)));
  const Partition partition(count, grain, 1, context->threads);
  run_pieces(partition.pieces(), [&](int piece) { f(partition.begin(piece), partition.end(piece)); });
}

/// Is it a single matrix of so much work that all threads take part in its factorization (blocked_factors.h)?
inline bool is_for_all_threads(const ThContext* context, long count, double work) {
  constexpr double kWorkOfAll = 10e6;
  return count == 1 && context->threads > 1 && work >= kWorkOfAll;
}

inline double cube(long n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

inline constexpr long kSquareOfTranspose = 8;  // its rows and its columns are few lines of the first cache

/// Calls rows(first, last) for the rows of squares of [0, count), which the threads take in turn where there are many.
template <class F>
void each_rows(int threads, long count, const F& rows) {
  constexpr long kRowsForThreads = 256;
  std::atomic<long> next = 0;
  run_pieces(count < kRowsForThreads ? 1 : threads, [&](int) {
    for (long first = next.fetch_add(kSquareOfTranspose); first < count; first = next.fetch_add(kSquareOfTranspose))
      rows(first, std::min(first + kSquareOfTranspose, count));
  });
}

/// f(i, j) for a square, column after column; by one of constant sides where it is whole.
template <class F>
void each_of_square(long first, long last, long j0, long j1, const F& f) {
  if (last - first == kSquareOfTranspose && j1 - j0 == kSquareOfTranspose) {
    for (long j = 0; j < kSquareOfTranspose; ++j)
#pragma GCC unroll 8
      for (long i = 0; i < kSquareOfTranspose; ++i) f(first + i, j0 + j);
    return;
  }
  for (long j = j0; j < j1; ++j)
    for (long i = first; i < last; ++i) f(i, j);
}

/// f(i, j) for the elements j <= i of a lower triangle of n rows, by squares.
template <class F>
void each_of_lower(int threads, long n, const F& f) {
  each_rows(threads, n, [=](long first, long last) {
    for (long j = 0; j < first; j += kSquareOfTranspose) each_of_square(first, last, j, j + kSquareOfTranspose, f);
    for (long i = first; i < last; ++i) each_of_square(i, i + 1, first, i + 1, f);
  });
}

/// a = a^T of a [n, n].
template <class T>
void transpose_in_place(int threads, T* a, long n) {
  each_of_lower(threads, n, [=](long i, long j) { std::swap(a[i * n + j], a[j * n + i]); });
}

/// to [columns, rows] = the transpose of from [rows, columns], by squares.
template <class T>
void transpose(int threads, const T* from, T* to, long rows, long columns) {
  each_rows(threads, rows, [=](long first, long last) {
    for (long j = 0; j < columns; j += kSquareOfTranspose)
      each_of_square(first, last, j, std::min(j + kSquareOfTranspose, columns),
                     [=](long i, long k) { to[k * rows + i] = from[i * columns + k]; });
  });
}

}  // namespace thtrain
