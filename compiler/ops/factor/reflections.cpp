#include "compiler/ops/factor/reflections.h"

#include <cmath>

namespace thtrain {

// x = (1 - factor v v^H) x from row j on, for the columns from `first` on, with v in v's column j.
static void reflect(Matrix& x, const Matrix& v, int64_t j, Matrix::Value factor, int64_t first) {
  for (int64_t k = first; k < x.columns(); ++k) {
    Matrix::Value sum = 0;
    for (int64_t i = j; i < x.rows(); ++i) sum += std::conj(v(i, j)) * x(i, k);
    for (int64_t i = j; i < x.rows(); ++i) x(i, k) -= factor * sum * v(i, j);
  }
}

// As LAPACK's: a column becomes a real multiple of the unit vector; one that is that already stays.
Reflections reflect_columns(Matrix& a) {
  const int64_t m = a.rows(), n = a.columns();
  Reflections out{Matrix(m, n), std::vector<Matrix::Value>(static_cast<size_t>(n))};
  Matrix& v = out.vectors;
  for (int64_t j = 0; j < n; ++j) {
    const Matrix::Value pivot = a(j, j);
    double below = 0;
    for (int64_t i = j + 1; i < m; ++i) below = std::hypot(below, std::abs(a(i, j)));
    v(j, j) = 1;
    if (below == 0 && pivot.imag() == 0) continue;
    const double target = -std::copysign(std::hypot(below, std::abs(pivot)), pivot.real());
    for (int64_t i = j + 1; i < m; ++i) v(i, j) = a(i, j) / (pivot - target);
    Matrix::Value& factor = out.factors[static_cast<size_t>(j)];
    factor = (target - pivot) / target;
    reflect(a, v, j, std::conj(factor), j);
  }
  return out;
}

Matrix product_of(const Reflections& reflections) {
  const int64_t m = reflections.vectors.rows(), n = reflections.vectors.columns();
  Matrix q(m, n);
  for (int64_t j = 0; j < n; ++j) q(j, j) = 1;
  for (int64_t j = n - 1; j >= 0; --j)
    reflect(q, reflections.vectors, j, reflections.factors[static_cast<size_t>(j)], j);
  return q;
}

}  // namespace thtrain
