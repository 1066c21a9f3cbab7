// Householder's reflections, by which matrices are factored, as LAPACK has them.
#pragma once

#include <vector>

#include "compiler/ops/factor/matrices.h"

namespace thtrain {

/// 1 - factors[j] v v^H for each column v of `vectors` [m, n], m >= n: 0 above row j, 1 there.
struct Reflections {
  Matrix vectors;
  std::vector<Matrix::Value> factors;
};

/// Makes a upper triangular, by the adjoints of the reflections that are given back. Of the diagonal the elements are
/// real, and of either sign; what is below it is not changed to 0.
Reflections reflect_columns(Matrix& a);
/// The first n columns of the product of the reflections, from the first to the last.
Matrix product_of(const Reflections& reflections);

}  // namespace thtrain
