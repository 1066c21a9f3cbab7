#include "compiler/libraries/lapack.h"

#include <algorithm>
#include <climits>
#include <type_traits>

#include "compiler/base/str.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/blas.h"
#include "compiler/ops/linalg/inverse_function.h"

namespace thtrain {
namespace {

template <class T>
struct Lapack {
  using Getrf = void(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  using Getri = void(const int* n, T* a, const int* lda, const int* pivots, T* work, const int* lwork, int* info);
  Getrf* getrf;
  Getri* getri;
};

// Found when a program is made, where an exception may pass.
template <class T>
const Lapack<T>& lapack() {
  static const Lapack<T> functions = [] {
    const std::string kind = std::is_same_v<T, float> ? "s" : "d";
    return Lapack<T>{blas().lapack<typename Lapack<T>::Getrf>((kind + "getrf_").c_str()),
                     blas().lapack<typename Lapack<T>::Getri>((kind + "getri_").c_str())};
  }();
  return functions;
}

// LAPACK's matrices are stored by columns: it sees a^T, whose inverse by columns is a^-1 by rows.
template <class T>
int inverse(ThContext*, TH_INVERSE_PARAMETERS(T)) {
  if (n == 0) return 0;
  if (n > INT_MAX / kInverseBlock) return -1;
  const int rows = static_cast<int>(n), work_length = static_cast<int>(n * kInverseBlock);
  if (out != a) std::copy(a, a + n * n, out);
  int status = 0;
  lapack<T>().getrf(&rows, &rows, out, &rows, pivots, &status);
  if (status == 0) lapack<T>().getri(&rows, out, &rows, pivots, work, &work_length, &status);
  return status;
}

template <class T>
std::optional<LibraryImplementation> found_inverse() {
  lapack<T>();
  return LibraryImplementation{reinterpret_cast<void*>(inverse<T>), str(blas().version, " ", blas().corename)};
}

}  // namespace

NamedFunctions lapack_functions() {
  return {{"inverse_f32", found_inverse<float>}, {"inverse_f64", found_inverse<double>}};
}

}  // namespace thtrain
