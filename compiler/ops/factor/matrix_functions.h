// Least squares, norms and functions of matrices.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- least squares, norms and functions of matrices ----------------------------------------------------------------

/// The x of the least sum of squares of a . x - b, for each matrix of a batch: a [..., m, n], b [m] or [..., m, k],
/// whose leading axes broadcast. Without `tolerance` by QR: rows or columns of a, the fewer, must be independent
/// (UserError where one is exactly in the span of the others); with fewer rows than columns the x of the least norm.
/// With a tolerance by pinv: any rank, 5 to 10 times the time.
Expr lstsq(const Operand& a, const Operand& b, std::optional<double> tolerance = {});
/// The pseudo-inverse [..., n, m] of each matrix [..., m, n] by its singular values, of which those up to `tolerance`
/// times the largest count as 0; without one max(m, n) times the step of the dtype at 1. Derivative: that while the
/// rank stays, of equal singular values too.
Expr pinv(const Operand& x, std::optional<double> tolerance = {});
/// How many singular values are larger than `tolerance` times the largest, int64 [...]; without one as pinv.
Expr matrix_rank(const Operand& x, std::optional<double> tolerance = {});
/// The condition number norm(x) norm(x^-1) [...] of the order 2, -2 (by singular values: largest over smallest and the
/// other way round), 1, -1, infinity or -infinity; infinite for a singular matrix in the orders 2 and -2, and else a
/// UserError.
Expr cond(const Operand& x, double order = 2);
/// The sum of the singular values: NumPy's norm of order "nuc".
Expr nuclear_norm(const Operand& x);

/// The y of l . l^H . y = b, or with `upper` of l^H . l . y = b, from the Cholesky factor: SciPy's cho_solve.
Expr cholesky_solve(const Operand& l, const Operand& b, bool upper = false);
/// The product of all, in the order of the fewest operations, by einsum. The first may be a row, the last a column.
Expr multi_dot(const std::vector<Operand>& matrices, std::source_location where = std::source_location::current());
/// The t with tensordot(t, x, axes) = 1, where the first `axes` lengths of x have the product of the others: x as a
/// matrix, inverted.
Expr tensorinv(const Operand& x, int64_t axes = 2);
/// The y with tensordot(a, y, rank of y) = b, where a's first lengths are those of b, after `axes` were moved to its
/// end.
Expr tensorsolve(const Operand& a, const Operand& b, const std::vector<int64_t>& axes = {});

/// The exponential of each matrix by a Pade approximation of degree 13, of x divided by a power of 2, and squaring (N.
/// J. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005). About 20 products of
/// matrices, and one for each doubling of the norm above 5.4.
Expr expm(const Operand& x);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& pseudo_inverse_op();  // p, x: p with the derivatives of the pseudo-inverse of x

}  // namespace thtrain
