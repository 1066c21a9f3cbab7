// What the calls of LAPACK share: dtypes, threads, transposes.
#pragma once

#include <algorithm>
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

inline double cube(long n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

/// a = a^T of a [n, n], by squares.
template <class T>
void transpose_in_place(T* a, long n) {
  // Rows and columns of a square that is transposed at once: both of its copies fit the first cache.
  constexpr long kSquare = 16;
  for (long i0 = 0; i0 < n; i0 += kSquare)
    for (long j0 = 0; j0 <= i0; j0 += kSquare)
      for (long i = i0; i < std::min(i0 + kSquare, n); ++i)
        for (long j = j0; j < std::min(j0 + kSquare, i); ++j) std::swap(a[i * n + j], a[j * n + i]);
}

/// to [columns, rows] = the transpose of from [rows, columns], by squares.
template <class T>
void transpose(const T* from, T* to, long rows, long columns) {
  constexpr long kSquare = 16;
  for (long i0 = 0; i0 < rows; i0 += kSquare)
    for (long j0 = 0; j0 < columns; j0 += kSquare)
      for (long i = i0; i < std::min(i0 + kSquare, rows); ++i)
        for (long j = j0; j < std::min(j0 + kSquare, columns); ++j) to[j * rows + i] = from[i * columns + j];
}

}  // namespace thtrain
