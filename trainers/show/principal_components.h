// The directions along which examples differ most.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

struct PrincipalComponents {
  Tensor coordinates;             // float64 [n, k]: the examples along them, centred; largest variance first
  std::vector<double> variances;  // along each, divided by n - 1
  double whole = 0;               // of all directions together
};

/// The first k of the rows of `x`, float64 [n, d] with n >= 2, k at most min(n, d). By subspace iteration with
/// k + 8 vectors on the covariance, which is not formed: O(n d k) for a round, until the variances change by no more
/// than 1e-12 of the largest, 1000 rounds at most. Of each direction the number of largest absolute value is positive.
PrincipalComponents principal_components(const Tensor& x, int64_t k);

}  // namespace thtrain
