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
const Op& csr_product_rows_op();
const Op& csr_product_op();

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

/// The product of two matrices, the elements of each row in any order, or `sorted`, for which each row looks at all
/// columns of the result, 64 at a time.
struct CsrProduct {
  Expr data, indices, indptr;  // indptr int64, indices as those of the left matrix
};
CsrProduct csr_product(const Expr& data, const Expr& indices, const Expr& indptr, const Expr& right_data,
                       const Expr& right_indices, const Expr& right_indptr, const Dim& columns, bool sorted);

/// `value`, whose derivatives are those of `whole`, another expression of it.
Expr regular_gradient(const Expr& value, const Expr& whole);

/// The pairs of stored elements that meet in the product of two matrices: their numbers, and the places of the products
/// in row-major order.
struct CsrMeetings {
  Expr left, right, places;  // int64
};
CsrMeetings csr_meetings(const Expr& indices, const Expr& indptr, const Expr& right_indices, const Expr& right_indptr,
                         const Dim& columns);

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
/// Of so many elements that follow each other, with one check.
std::vector<kernel::Term> stored_indices(kernel::StepBuilder& b, const kernel::Operand& indices,
                                         const kernel::Term& element, int count, const Dim& limit);
/// The first row whose elements and rows before are at least `where`: the numbers from 0 to their sum are even parts.
kernel::Term first_row_from(kernel::StepBuilder& b, const kernel::Operand& indptr, const std::string& name,
                            const kernel::Term& where);
/// A loop over elements, `run` at once, which asks for those that follow where all together are more than the caches
/// hold. One stream of loads with gathers between them does not use what memory can give: of 10^7 elements a product
/// with a vector took 9.0 ms, with this 6.6 ms (AMD EPYC, Zen 4); where they are in the third cache it would cost 3 to
/// 6 %.
void each_run(kernel::StepBuilder& b, const kernel::Operand& data, const kernel::Operand& indices,
              const kernel::Term& begin, const kernel::Term& end, int run,
              const std::function<void(const kernel::Term& element)>& body);
/// In a kernel of csr_dot: the sum over the elements of a row of A, of each times x there. It is made of two vectors of
/// four elements at once, and single ones.
kernel::Term row_product(kernel::StepBuilder& b, const StoredRow& row);
/// The kernels of A^T x for a vector x that nothing is added to.
void lower_transposed_vector(kernel::StepBuilder& b);
/// The kernels of csr_product_rows and csr_product: inputs are indices and indptr of both matrices, data before them
/// (of csr_product only), and indptr of the result.
struct ProductInputs {
  size_t left, right, ends;  // of the indices
};
constexpr ProductInputs kOfCounts{0, 2, 4}, kOfProduct{1, 4, 6};
void lower_product_counts(kernel::StepBuilder& b);
void lower_product(kernel::StepBuilder& b);
void lower_sorted_product(kernel::StepBuilder& b);
/// What a stored element and n numbers cost, in multiply-adds of vectors: a number alone takes as long as eight.
int64_t work_of_element(const Dim& n);
using RowBody = std::function<void(const kernel::Term& row, const StoredRow& elements)>;
/// A kernel over the rows, with `work` for each stored element (of products). Threads get as many stored elements each,
/// of whole rows.
void finish_rows(kernel::StepBuilder& b, const kernel::Operand& indptr, const Dim& stored, int64_t work,
                 const std::string& name, const std::string& comment, const RowBody& body);

/// The same in references.
struct CsrRow {
  int64_t begin, end;
};
void each_csr_row(const ReferenceArgs& args, const Tensor& indptr, int64_t stored,
                  const std::function<void(int64_t row, const CsrRow& elements)>& body);
int64_t csr_index(const ReferenceArgs& args, const Tensor& indices, int64_t element, int64_t limit);

}  // namespace thtrain
