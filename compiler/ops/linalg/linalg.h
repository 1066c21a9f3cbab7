// Matrix products.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- linear algebra ------------------------------------------------------------------------------------------------

/// NumPy's dot: of scalars the product; of vectors the inner product; of matrices the matrix product; else the sum over
/// the last axis of a and the last but one of b: a [..., k], b [..., k, n] -> [a's leading..., b's leading..., n].
/// Derivatives: da = dout . b^T, db = a^T . dout.
Expr dot(const Operand& a, const Operand& b);
/// x y^T of two vectors.
Expr outer(const Operand& x, const Operand& y);
/// The inverse of a matrix [n, n] of floats, by LAPACK's LU factorization with partial pivoting (getrf, getri): 2 n^3
/// operations. UserError where a call finds a pivot of 0: the matrix is singular. As many digits are lost as the
/// condition number has. Derivative: da = -x^T . dx . x^T.
Expr inverse(const Operand& x);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& dot_op();   // ranks (1,1), (2,1), (1,2), (2,2)
const Op& gemm_op();  // inputs c, alpha, a, b, beta: beta c + alpha a . b; c, a, b matrices, alpha and beta scalars
const Op& gemv_op();  // inputs y, alpha, a, x, beta: beta y + alpha a . x
const Op& ger_op();   // inputs a, alpha, x, y: a + alpha x y^T
const Op& inverse_op();

}  // namespace thtrain
