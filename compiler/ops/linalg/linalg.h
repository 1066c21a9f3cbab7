// Matrix products.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- linear algebra ------------------------------------------------------------------------------------------------

/// NumPy's dot: of scalars the product; of vectors the inner product; of matrices the matrix product; else the sum over
/// the last axis of a and the last but one of b: a [..., k], b [..., k, n] -> [a's leading..., b's leading..., n].
/// Derivatives: da = dout . b^T, db = a^T . dout.
Expr dot(const Operand& a, const Operand& b);
/// The products of two batches of matrices, as NumPy's matmul: a [..., m, k], b [..., k, n] -> [..., m, n], where the
/// leading axes broadcast. A vector on the left is a row, on the right a column, whose axis the result lacks; a scalar
/// is a UserError. Derivatives: da = dout . b^T, db = a^T . dout, summed over the axes along which they were broadcast.
Expr matmul(const Operand& a, const Operand& b);
/// Theano's batched_dot: of each element of the first axis, which is as long in both, the product of a[i] and b[i],
/// matrices or vectors: a [batch, m, k] or [batch, k], b [batch, k, n] or [batch, k].
Expr batched_dot(const Operand& a, const Operand& b);
/// The sum of a's elements times b's over pairs of axes: a's named ones and, in the same order, b's. The result has the
/// other axes of a, and then those of b. An integer instead: a's last axes and b's first.
Expr tensordot(const Operand& a, const Operand& b, const std::vector<int64_t>& a_axes,
               const std::vector<int64_t>& b_axes);
Expr tensordot(const Operand& a, const Operand& b, int64_t axes = 2);
/// tensordot of each element of the first axis, which is as long in both and is not among the named ones.
Expr batched_tensordot(const Operand& a, const Operand& b, const std::vector<int64_t>& a_axes,
                       const std::vector<int64_t>& b_axes);
/// NumPy's einsum: einsum("ij,jk->ik", {a, b}) is a product of matrices, einsum("bqhd,bkhd->bhqk", {q, k}) one for each
/// b and h. A letter names an axis; what the result does not name is summed; a letter twice in one operand is its
/// diagonal; without "->" the result has the letters that occur once, in alphabetical order. "..." are the other axes,
/// which are broadcast. Three operands and more are multiplied two at a time, in the order of the fewest operations (of
/// up to 6 operands the best order, of more the cheapest next product; an unknown length counts as 64). UserError where
/// letters and ranks do not agree.
Expr einsum(const std::string& subscripts, const std::vector<Operand>& operands,
            std::source_location where = std::source_location::current());
/// The Kronecker product: blocks a[i, j] b. Of other ranks as NumPy's kron.
Expr kron(const Operand& a, const Operand& b);
/// x with its last two axes exchanged: [..., m, n] -> [..., n, m].
Expr matrix_transpose(const Operand& x);
/// x y^T of two vectors.
Expr outer(const Operand& x, const Operand& y);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& dot_op();          // ranks (1,1), (2,1), (1,2), (2,2)
const Op& batched_dot_op();  // a [..., m, k], b [..., k, n], of one rank from 3 on and equal leading lengths
const Op& gemm_op();  // inputs c, alpha, a, b, beta: beta c + alpha a . b; c, a, b matrices, alpha and beta scalars
const Op& gemv_op();  // inputs y, alpha, a, x, beta: beta y + alpha a . x
const Op& ger_op();   // inputs a, alpha, x, y: a + alpha x y^T

}  // namespace thtrain
