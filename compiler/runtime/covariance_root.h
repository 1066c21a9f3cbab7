// A square root of a covariance, as NumPy's multivariate_normal takes it.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// r [n, n] with r^T r = the covariance [n, n] (both float64): the rows of V^T of its singular value decomposition,
/// each times the square root of its singular value, by LAPACK's gesdd. A call checks that r^T r is the covariance to
/// 1e-8, which it is where that is symmetric and positive semi-definite. Derivative: of draws as
/// random numbers: of all dr with r^T dr + dr^T r = dc the one for which dr . v is symmetric, which exists for equal
/// singular values too.
Expr covariance_root(const Operand& covariance);
const Op& covariance_root_op();

}  // namespace thtrain
