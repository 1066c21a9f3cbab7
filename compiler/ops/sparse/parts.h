// The ops on the parts of a matrix in compressed rows (CSR): row i has the stored elements data[e], in the columns
// indices[e], for e from indptr[i] to indptr[i + 1] - 1. A matrix in compressed columns has the parts of its transpose.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

const Op& csr_dot_op();
const Op& csr_sampled_dot_op();
const Op& csr_rows_op();
const Op& csr_transposed_op();
const Op& csr_checked_op();
const Op& regular_gradient_op();

// ---- nodes of these
// --------------------------------------------------------------------------------------------------

/// A x, for a matrix or a vector x; `columns` given: A^T x, for A of so many columns.
Expr csr_dot(const Expr& data, const Expr& indices, const Expr& indptr, const Expr& x, const Dims& columns = {});
/// Of each stored element of the pattern, in row i and column j, the inner product of row i of a and row j of b.
Expr csr_sampled_dot(const Expr& indices, const Expr& indptr, const Expr& a, const Expr& b);
/// The row of each stored element, as many as `indices` are.
Expr csr_rows(const Expr& indptr, const Expr& indices);
/// The pattern of the transpose: its indices and indptr, and which element each of its own is.
struct CsrPattern {
  Expr indices, indptr, order;
};
CsrPattern csr_transposed(const Expr& indices, const Expr& indptr, const Dim& columns);

/// indptr, checked: with `indices` it is the pattern of a matrix of so many columns, sorted and without duplicates.
Expr csr_checked(const Expr& indices, const Expr& indptr, const Dim& columns,
                 const std::source_location& where = std::source_location::current());

/// `value`, whose derivatives are those of `whole`, another expression of it.
Expr regular_gradient(const Expr& value, const Expr& whole);

/// The numbers as indices of that dtype, for cases.
Expr constant_indices(const std::vector<int64_t>& numbers, DType dtype);

// ---- what they share
// -------------------------------------------------------------------------------------------------

/// UserError where data (of input `data`, -1: none), indices and indptr are no parts of a matrix.
void require_parts(const TypeArgs& args, int data, size_t indices);
Dim rows_of(const Type& indptr);
/// The property `columns` of nodes that have one number.
const Dim& columns_of(const Props& props);

/// Fails the call where there are stored elements and no row: what each row asks (stored_row) is then not asked.
void require_rows(kernel::StepBuilder& b, const kernel::Operand& indptr, const Dim& stored);
/// The elements of a row in a kernel. Fails the call where these are none of the `stored` elements.
struct StoredRow {
  kernel::Term begin, end;
};
StoredRow stored_row(kernel::StepBuilder& b, const kernel::Operand& indptr, const kernel::Term& row, const Dim& stored);
/// The index of a stored element, int64. Fails the call where it is not below `limit`.
kernel::Term stored_index(kernel::StepBuilder& b, const kernel::Operand& indices, const kernel::Term& element,
                          const Dim& limit);
/// A kernel over the rows, with `work` for each stored element (of products). Threads get as many stored elements each,
/// of whole rows.
void finish_rows(kernel::StepBuilder& b, const kernel::Operand& indptr, const Dim& stored, int64_t work,
                 const std::string& name, const std::string& comment,
                 const std::function<void(kernel::Term row)>& body);

/// The same in references.
struct CsrRow {
  int64_t begin, end;
};
void each_csr_row(const ReferenceArgs& args, const Tensor& indptr, int64_t stored,
                  const std::function<void(int64_t row, const CsrRow& elements)>& body);
int64_t csr_index(const ReferenceArgs& args, const Tensor& indices, int64_t element, int64_t limit);

}  // namespace thtrain
