// Factorizations of matrices, and what they solve.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- factorizations ------------------------------------------------------------------------------------------------

// All take a matrix or a batch of them, [..., n, n] of floats or complex numbers; other numbers become floatX.

/// The lower triangular l of a symmetric (Hermitian) positive definite x = l . l^H; `upper`: its u = l^H. Only x's
/// lower triangle is read. UserError where a call finds a pivot that is not positive, with its matrix. n^3 / 3
/// operations. Derivative: that of the lower triangle.
Expr cholesky(const Operand& x, bool upper = false);
/// What lu gives: `packed` [..., n, n] has u in its upper triangle, and below it l, whose diagonal is 1; l . u has row
/// rows[i] of x as row i; rows int64 [..., n]; sign int64 [...] is that of the rows' permutation, 1 or -1.
struct LuFactors {
  Expr packed, rows, sign;
};
/// LU factorization with partial pivoting: the first of the largest elements of a column is its pivot. A singular x has
/// factors, too. 2/3 n^3 operations. Derivative: that of l and u while the rows keep their order.
LuFactors lu(const Operand& x);

// ---- equations and determinants ------------------------------------------------------------------------------------

/// What is known of a matrix: of a triangle that all other elements are 0. Symmetric ones are Hermitian where they are
/// complex, positive definite ones symmetric. Elements that follow from others are not read.
enum class MatrixKind : uint8_t { kGeneral, kSymmetric, kPositiveDefinite, kLower, kUpper };
/// x, with each of its matrices known to be of this kind, which is not checked: where solve, inverse, det, slogdet, eig
/// and eigvals are told no kind, they take this one. Without a hint they know the kind of cholesky's result, of tril
/// and triu, and of transposes and inverses of what they know.
Expr matrix_hint(const Operand& x, MatrixKind kind);
/// The y with a . y = b, for each matrix of a batch: a [..., n, n], b [n] or [..., n, k], whose leading axes broadcast
/// as in NumPy's solve. By LU, Cholesky or substitution. UserError where a call finds a singular matrix (one that is
/// not positive definite). Derivatives: db = solve(a^T, dy), da = -db . y^T, in the triangle that is read.
Expr solve(const Operand& a, const Operand& b, MatrixKind kind = MatrixKind::kGeneral);
/// The y with op(t) . y = b, where t is a's lower (upper) triangle, and op(t) is t, or t^T where `transposed`; `unit`:
/// 1 on the diagonal, which is not read. a [..., n, n], b [n] or [..., n, k]: leading axes broadcast. n^2 k operations.
/// UserError where a call finds a 0 on the diagonal.
struct Triangle {
  bool lower = true, transposed = false, unit = false;
};
Expr triangular_solve(const Operand& a, const Operand& b, Triangle triangle = {});
/// The inverse of each matrix of x [..., n, n], by LU, Cholesky or substitution. UserError where a call finds a
/// singular one. As many digits are lost as the condition number has. Derivative: dx = -y^T . dy . y^T.
Expr inverse(const Operand& x, MatrixKind kind = MatrixKind::kGeneral);
/// x times itself, n times; the identity for 0, the power of the inverse below 0. Products: up to 2 log2(n).
Expr matrix_power(const Operand& x, int64_t n);

/// The determinant of each matrix, [...], by LU or Cholesky, or of a triangle the product of its diagonal. 0 for a
/// singular one, where the derivative is a UserError. Of one matrix solve, inverse, det and slogdet share the factors.
Expr det(const Operand& x, MatrixKind kind = MatrixKind::kGeneral);
/// The determinant as sign (of modulus 1, or 0) and logarithm of its modulus, where det would be too large or small.
struct LogDeterminant {
  Expr sign, log;
};
LogDeterminant slogdet(const Operand& x, MatrixKind kind = MatrixKind::kGeneral);
/// The sum of the elements at which axis2 - axis1 == offset: NumPy's trace.
Expr trace(const Operand& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& cholesky_op();
const Op& lu_op();
const Op& triangular_solve_op();  // a, b of one rank, with equal leading lengths
const Op& solution_op();          // x, a, b

const Op& matrix_hint_op();

/// By a hint or by the op that made it.
MatrixKind known_kind(const Expr& x);
/// The solution's equations by the factors of what its matrix is the transpose of; empty where it is no transpose, or
/// known to be definite.
Expr by_factors_of_transpose(const Node& solution, const std::vector<Expr>& inputs);
/// The product of both, of which one is an inverse that nobody else reads, as a solution; empty where none is.
Expr solution_of_product(const Expr& left, const Expr& right, const std::function<bool(const Expr&)>& is_read_once);

}  // namespace thtrain
