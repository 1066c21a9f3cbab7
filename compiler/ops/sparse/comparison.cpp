// Comparisons of sparse matrices.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/construction.h"

namespace thtrain {
namespace {

using Comparison = Expr (*)(const Operand&, const Operand&);

Aligned of_one_shape(const SparseOperand& left, const SparseOperand& right, const char* what) {
  const Sparse &a = left.value(), b = of_shape(right.value(), a, what, left.where());
  return aligned(a, in_format(b, a.format));
}

// False of two zeros.
Sparse at_elements(const SparseOperand& a, const SparseOperand& b, const char* what, Comparison compare) {
  const CallersLine line(a.where());
  const Aligned both = of_one_shape(a, b, what);
  return with_data(both.pattern, compare(both.left, both.right));
}
// True of two zeros.
Expr everywhere(const SparseOperand& a, const SparseOperand& b, const char* what, Comparison compare) {
  const CallersLine line(a.where());
  const Aligned both = of_one_shape(a, b, what);
  const auto [rows, columns] = coordinates(both.pattern);
  return set_subtensor(ones({both.pattern.rows, both.pattern.columns}, DType::kBool)[{rows, columns}],
                       compare(both.left, both.right));
}
Expr with_dense(const SparseOperand& a, const Operand& x, Comparison compare) {
  const CallersLine line(a.where());
  return compare(dense(a), x);
}

}  // namespace

Sparse lt(const SparseOperand& a, const SparseOperand& b) {
  return at_elements(a, b, "lt", lt);
}
Sparse gt(const SparseOperand& a, const SparseOperand& b) {
  return at_elements(a, b, "gt", gt);
}
Sparse neq(const SparseOperand& a, const SparseOperand& b) {
  return at_elements(a, b, "neq", neq);
}
Expr le(const SparseOperand& a, const SparseOperand& b) {
  return everywhere(a, b, "le", le);
}
Expr ge(const SparseOperand& a, const SparseOperand& b) {
  return everywhere(a, b, "ge", ge);
}
Expr eq(const SparseOperand& a, const SparseOperand& b) {
  return everywhere(a, b, "eq", eq);
}
Expr lt(const SparseOperand& a, const Operand& x) {
  return with_dense(a, x, lt);
}
Expr le(const SparseOperand& a, const Operand& x) {
  return with_dense(a, x, le);
}
Expr gt(const SparseOperand& a, const Operand& x) {
  return with_dense(a, x, gt);
}
Expr ge(const SparseOperand& a, const Operand& x) {
  return with_dense(a, x, ge);
}
Expr eq(const SparseOperand& a, const Operand& x) {
  return with_dense(a, x, eq);
}
Expr neq(const SparseOperand& a, const Operand& x) {
  return with_dense(a, x, neq);
}

}  // namespace thtrain
