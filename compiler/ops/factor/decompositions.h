// Orthogonal factors, eigenvalues and singular values of matrices.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- eigenvalues, singular values, orthogonal factors --------------------------------------------------------------

// All take a matrix or a batch of them, [..., m, n], of floats or complex numbers; other numbers become floatX. An
// eigenvector or a singular vector is fixed by its leading element being real and positive: the first whose modulus is
// at least 0.55 of the largest. UserError where a call finds an element that is not finite, with its matrix.

/// x = q . r: with k = min(m, n), q [..., m, k] has orthonormal columns, r [..., k, n] is upper triangular, and its
/// diagonal is real and not negative. 4 m n^2 - 4/3 n^3 operations. Derivative: where the first k columns are
/// independent. Of lengths that are not known, at least as many rows as columns are required. `complete`: q [..., m,
/// m], r [..., m, n], with m^2 n operations more; the last m - n columns of q have no derivative: a UserError of the
/// call.
struct QrFactors {
  Expr q, r;
};
QrFactors qr(const Operand& x, bool complete = false);

/// Eigenvalues [..., n], and eigenvectors as the columns of [..., n, n], of norm 1.
struct EigenPairs {
  Expr values, vectors;
};
/// Of a symmetric (Hermitian) matrix: real eigenvalues in ascending order, orthonormal eigenvectors. Only x's lower
/// triangle is read. Derivative: that of the lower triangle; of vectors where the eigenvalues differ.
EigenPairs eigh(const Operand& x);
/// The eigenvalues alone.
Expr eigvalsh(const Operand& x);
/// Of any square matrix: complex eigenvalues in the order of their real parts, of equal real parts (to about half of
/// the digits) of their imaginary parts. Derivative: where the eigenvalues differ.
EigenPairs eig(const Operand& x);
/// The eigenvalues alone.
Expr eigvals(const Operand& x);

/// x = u . diag(s) . vh: with k = min(m, n), u [..., m, k] has orthonormal columns, vh [..., k, n] orthonormal rows,
/// and s [..., k] is in descending order and not negative. The leading elements of the columns of u fix the signs, of a
/// matrix with more columns than rows those of the rows of vh. Derivative: where the singular values differ and are not
/// 0. Of lengths that are not known, at least as many rows as columns are required.
struct SingularValues {
  Expr u, s, vh;
};
SingularValues svd(const Operand& x);
/// The singular values alone.
Expr svdvals(const Operand& x);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& qr_op();  // at least as many rows as columns
const Op& eigh_op();
const Op& eig_op();
const Op& svd_op();  // at least as many rows as columns

}  // namespace thtrain
