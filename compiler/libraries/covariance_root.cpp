#include "compiler/libraries/covariance_root.h"

#include <climits>
#include <cmath>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/blas.h"

namespace thtrain {
namespace {

// Matrices by columns: job, rows, columns, a and the elements between its columns, s, u, v^T, workspaces, info.
using Gesdd = void(const char* job, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
                   const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info);

// Of a symmetric matrix, whose columns are its rows. False where the iteration did not converge.
bool decompose(std::vector<double> a, int n, std::vector<double>& s, std::vector<double>& vt) {
  static Gesdd* gesdd = blas().lapack<Gesdd>("dgesdd_");
  const size_t elements = static_cast<size_t>(n) * static_cast<size_t>(n);
  std::vector<double> u(elements);
  std::vector<int> integers(8 * static_cast<size_t>(n));
  s.assign(static_cast<size_t>(n), 0);
  vt.assign(elements, 0);
  double wanted = 0;
  int length = -1, info = 0;
  gesdd("A", &n, &n, a.data(), &n, s.data(), u.data(), &n, vt.data(), &n, &wanted, &length, integers.data(), &info);
  if (info != 0) return false;
  length = static_cast<int>(wanted);
  std::vector<double> work(static_cast<size_t>(length));
  gesdd("A", &n, &n, a.data(), &n, s.data(), u.data(), &n, vt.data(), &n, work.data(), &length, integers.data(), &info);
  return info == 0;
}

bool is_covariance(const double* x, const double* r, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double product = 0;
      for (int64_t k = 0; k < n; ++k) product += r[k * n + i] * r[k * n + j];
      if (!(std::fabs(product - x[i * n + j]) <= 1e-8 + 1e-8 * std::fabs(x[i * n + j]))) return false;
    }
  return true;
}

int run(ThContext* context, TH_COVARIANCE_ROOT_PARAMETERS) {
  if (find_covariance_root(covariance, n, root)) return 0;
  context->fail(context, check, 0, 0);
  return 1;
}

}  // namespace

bool find_covariance_root(const double* covariance, int64_t n, double* root) {
  if (n == 0) return true;
  if (n > INT_MAX / 8) return false;
  std::vector<double> s, vt;
  if (!decompose({covariance, covariance + n * n}, static_cast<int>(n), s, vt)) return false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      root[i * n + j] = std::sqrt(s[static_cast<size_t>(i)]) * vt[static_cast<size_t>(j * n + i)];
  return is_covariance(covariance, root, n);
}

NamedFunctions covariance_root_functions() {
  return {{"covariance_root_f64", [] {
             blas();
             return LibraryImplementation{reinterpret_cast<void*>(run), blas().version + " " + blas().corename};
           }}};
}

}  // namespace thtrain
