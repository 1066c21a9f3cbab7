#include "compiler/libraries/lapack.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <complex>
#include <numeric>
#include <string>
#include <type_traits>

#include "compiler/libraries/blocked_factors.h"
#include "compiler/libraries/lapack_parts.h"
#include "compiler/ops/factor/factor_functions.h"

namespace thtrain {
namespace {

enum CblasSide : int { kCblasLeft = 141 };
enum CblasTriangle : int { kCblasUpper = 121, kCblasLower = 122 };
enum CblasDiagonal : int { kCblasNonUnit = 131, kCblasUnit = 132 };

// The complex entries take alpha by its address.
template <class T>
using Alpha = std::conditional_t<std::is_same_v<T, Real<T>>, T, const T*>;

template <class T>
struct Lapack {
  using Potrf = void(const char* triangle, const int* n, T* a, const int* lda, int* info, size_t letters);
  using Getrf = void(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  using Trsm = void(CblasOrder, CblasSide, CblasTriangle, CblasTranspose, CblasDiagonal, int m, int n, Alpha<T> alpha,
                    const T* a, int lda, T* b, int ldb);
  using Trsv = void(CblasOrder, CblasTriangle, CblasTranspose, CblasDiagonal, int n, const T* a, int lda, T* x,
                    int incx);
  Potrf* potrf;
  Getrf* getrf;
  Trsm* trsm;
  Trsv* trsv;
};

// Found when a program is made, where an exception may pass.
template <class T>
const Lapack<T>& lapack() {
  static const Lapack<T> functions = [] {
    find_blocked_factors<T>();
    const std::string kind = lapack_letter<T>();
    return Lapack<T>{blas().lapack<typename Lapack<T>::Potrf>((kind + "potrf_").c_str()),
                     blas().lapack<typename Lapack<T>::Getrf>((kind + "getrf_").c_str()),
                     blas().lapack<typename Lapack<T>::Trsm>(("cblas_" + kind + "trsm").c_str()),
                     blas().lapack<typename Lapack<T>::Trsv>(("cblas_" + kind + "trsv").c_str())};
  }();
  return functions;
}

// LAPACK's matrices are stored by columns. What it would take for the upper triangle of a^T is the lower one of a, but
// OpenBLAS is 1.2 to 1.5 times as fast by lower triangles, which is more than two transposes cost.
template <class T>
int cholesky(ThContext* context, TH_CHOLESKY_PARAMETERS(Real<T>)) {
  if (n > INT_MAX) return 1;
  const int rows = static_cast<int>(n);
  std::atomic<int> failed = 0;
  share(context, count, cube(n) / 6, [&](long first, long last) {
    for (long m = first; m < last; ++m) {
      T* const l = elements<T>(out) + m * n * n;
      const T* const from = elements<T>(a) + m * n * n;
      each_of_lower(context->threads, n, [=](long i, long j) { l[j * n + i] = from[i * n + j]; });
      int status = 0;
      if (is_for_all_threads(context, count, cube(n) / 6))
        status = blocked_cholesky(context->threads, rows, l);
      else if (n > 0)
        lapack<T>().potrf("L", &rows, l, &rows, &status, 1);
      if (status != 0) {
        context->fail(context, check, status, m);
        failed = 1;
        return;
      }
      each_of_lower(context->threads, n, [=](long i, long j) {
        const T x = l[j * n + i];
        l[j * n + i] = T(0);
        l[i * n + j] = x;
      });
    }
  });
  return failed;
}

// The columns of one matrix are shared among threads, of several the matrices.
template <class T>
int triangular_solve(ThContext* context, TH_TRIANGULAR_SOLVE_PARAMETERS(Real<T>)) {
  if (n > INT_MAX || k > INT_MAX) return 1;
  for (long m = 0; m < count && !unit; ++m)
    for (long i = 0; i < n; ++i)
      if (elements<T>(a)[m * n * n + i * (n + 1)] == T(0)) {
        context->fail(context, check, i + 1, m);
        return 1;
      }
  if (out != b) std::copy_n(b, count * n * k * static_cast<long>(sizeof(T) / sizeof(Real<T>)), out);
  const CblasTriangle triangle = lower ? kCblasLower : kCblasUpper;
  const CblasTranspose trans = transposed ? kCblasTrans : kCblasNoTrans;
  const CblasDiagonal diagonal = unit ? kCblasUnit : kCblasNonUnit;
  const auto solve = [&](long m, long first, long last) {
    static const T one(1);
    Alpha<T> alpha;
    if constexpr (std::is_same_v<T, Real<T>>)
      alpha = one;
    else
      alpha = &one;
    const T* const of = elements<T>(a) + m * n * n;
    T* const x = elements<T>(out) + m * n * k + first;
    const int rows = static_cast<int>(n);
    if (k == 1)
      lapack<T>().trsv(kCblasRowMajor, triangle, trans, diagonal, rows, of, rows, x, 1);
    else
      lapack<T>().trsm(kCblasRowMajor, kCblasLeft, triangle, trans, diagonal, rows, static_cast<int>(last - first),
                       alpha, of, rows, x, static_cast<int>(k));
  };
  if (n == 0 || k == 0) return 0;
  const double of_column = static_cast<double>(n) * static_cast<double>(n) / 2;
  if (count == 1)
    share(context, k, of_column, [&](long first, long last) { solve(0, first, last); });
  else
    share(context, count, of_column * static_cast<double>(k), [&](long first, long last) {
      for (long m = first; m < last; ++m) solve(m, 0, k);
    });
  return 0;
}

template <class T>
void lu(ThContext* context, TH_LU_PARAMETERS(Real<T>)) {
  const int size = static_cast<int>(n);
  share(context, count, cube(n) / 3, [&](long first, long last) {
    for (long m = first; m < last; ++m) {
      T* const x = elements<T>(packed) + m * n * n;
      long* const order = rows + m * n;
      if (packed == a)
        transpose_in_place(context->threads, x, n);
      else
        transpose(context->threads, elements<T>(a) + m * n * n, x, n, n);
      int* const pivot = pivots + m * n;
      int status = 0;  // a pivot of 0 is no failure
      if (is_for_all_threads(context, count, cube(n) / 3))
        blocked_lu(context->threads, size, x, pivot);
      else if (n > 0)
        lapack<T>().getrf(&size, &size, x, &size, pivot, &status);
      transpose_in_place(context->threads, x, n);
      std::iota(order, order + n, 0L);
      sign[m] = 1;
      for (long i = 0; i < n; ++i)
        if (pivot[i] - 1 != i) {
          std::swap(order[i], order[pivot[i] - 1]);
          sign[m] = -sign[m];
        }
    }
  });
}

template <class T>
void add_functions(NamedFunctions& out, DType dtype) {
  out[factor_function_name("cholesky", dtype)] = lapack_function(lapack<T>, cholesky<T>);
  out[factor_function_name("triangular_solve", dtype)] = lapack_function(lapack<T>, triangular_solve<T>);
  out[factor_function_name("lu", dtype)] = lapack_function(lapack<T>, lu<T>);
}

}  // namespace

NamedFunctions lapack_functions() {
  NamedFunctions out;
  add_functions<float>(out, DType::kFloat32);
  add_functions<double>(out, DType::kFloat64);
  add_functions<std::complex<float>>(out, DType::kComplex64);
  add_functions<std::complex<double>>(out, DType::kComplex128);
  return out;
}

}  // namespace thtrain
