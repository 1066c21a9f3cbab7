#include "compiler/runtime/covariance_root.h"

#include <climits>
#include <cmath>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/libraries/blas.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"

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

bool is_covariance(const Tensor& c, const Tensor& root) {
  const int64_t n = c.dim(0);
  const double *x = c.data<double>(), *r = root.data<double>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double product = 0;
      for (int64_t k = 0; k < n; ++k) product += r[k * n + i] * r[k * n + j];
      if (!(std::fabs(product - x[i * n + j]) <= 1e-8 + 1e-8 * std::fabs(x[i * n + j]))) return false;
    }
  return true;
}

std::vector<Tensor> reference(const ReferenceArgs& args) {
  const Tensor& c = args.inputs[0];
  Tensor root = args.make_output();
  const int64_t n = c.dim(0);
  if (n == 0) return {root};
  TH_CHECK(n <= INT_MAX / 8, "a covariance of ", n, " rows");
  std::vector<double> s, vt;
  const bool is_done = decompose({c.data<double>(), c.data<double>() + n * n}, static_cast<int>(n), s, vt);
  for (int64_t i = 0; is_done && i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      root.data<double>()[i * n + j] = std::sqrt(s[static_cast<size_t>(i)]) * vt[static_cast<size_t>(j * n + i)];
  if (!is_done || !is_covariance(c, root))
    throw UserError({.what = "multivariate_normal: the matrix is no covariance",
                     .expected = "a symmetric matrix without negative eigenvalues",
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  return {root};
}

}  // namespace

const Op& covariance_root_op() {
  static const Op op{
      .name = "covariance_root",
      .doc = "r with r^T r = c, from the singular value decomposition of a covariance c [n, n], float64.",
      .infer =
          [](const TypeArgs& a) {
            a.require(a.type(0).rank() == 2 && a.type(0).dtype == DType::kFloat64,
                      "the covariance is no matrix of float64");
            a.require_equal(a.type(0).dims[0], a.type(0).dims[1], "multivariate_normal: rows and columns differ");
            return std::vector{a.type(0)};
          },
      .reference = reference,
      .error = unknown_errors,
      .calls_reference = true,
      .foldable = false,
      .connection = [](const Node&, size_t, size_t) { return false; }};
  return op;
}

Expr covariance_root(const Operand& covariance) {
  return apply(covariance_root_op(), {cast(covariance, DType::kFloat64)}, {{"version", std::string("1")}},
               covariance.where());
}

}  // namespace thtrain
