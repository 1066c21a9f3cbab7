// Sparse matrices: bundles of dense values that hold the stored elements and where they are.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "compiler/ops/index/index.h"
#include "compiler/ops/operand.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- sparse matrices
// -------------------------------------------------------------------------------------------------

/// Whether the stored elements lie row by row (CSR) or column by column (CSC).
enum class SparseFormat : uint8_t { kCsr, kCsc };

/// A matrix of which some elements are stored and all others are 0. In CSR, row i has the elements data[e] in the
/// columns indices[e], for e from indptr[i] to indptr[i + 1] - 1, ascending, each once; CSC has columns for rows. These
/// are SciPy's names and values.
/// All three parts are ordinary expressions. Derivatives are those of the stored elements: the gradient with respect to
/// `data` has no others ("structured"), and no backward pass makes a dense matrix of this shape. regular() asks for
/// those of all elements.
struct Sparse {
  SparseFormat format = SparseFormat::kCsr;
  Expr data;             // [stored]
  Expr indices, indptr;  // [stored] and [rows + 1] (of CSC [columns + 1]), int32 or int64
  Dim rows, columns;
  Expr whole = {};  // of a matrix with regular derivatives, the dense one that has these; else empty

  DType dtype() const { return data.dtype(); }
  /// How many elements are stored.
  Dim stored() const { return data.dims()[0]; }
  /// The transpose, which has the same parts in the other format. Costs nothing.
  Sparse T() const;
  /// Data, indices, indptr: what a function takes as inputs or gives as outputs. (Of a matrix whose parts are checked,
  /// indptr is here what was given: the input itself.)
  std::vector<Expr> parts() const;
};

/// What builders take: a sparse matrix or a variable of one. Notes the user's source line. UserError where a part is an
/// empty expression.
class SparseOperand {
 public:
  SparseOperand(const Sparse& value, std::source_location where = std::source_location::current());
  template <class T>
  requires requires(const T& t) {
    { t.expr() } -> std::convertible_to<const Sparse&>;
  }
  SparseOperand(const T& variable, std::source_location where = std::source_location::current())
      : SparseOperand(static_cast<const Sparse&>(variable.expr()), where) {}

  const Sparse& value() const { return value_; }
  const std::source_location& where() const { return where_; }

 private:
  Sparse value_;
  std::source_location where_;
};

/// A sparse matrix as an input of functions, which take its three parts: function(inputs_of({a, x}), {dot(a, x)}). It
/// has any number of stored elements in each call. That indptr and indices are as Sparse says is checked by each call.
/// The dtype is floatX unless given; indices are int32 unless their dtype is given.
Sparse csr_matrix(const std::string& name, const Dim& rows, const Dim& columns, std::optional<DType> dtype = {},
                  DType of_indices = DType::kInt32, std::source_location where = std::source_location::current());
Sparse csc_matrix(const std::string& name, const Dim& rows, const Dim& columns, std::optional<DType> dtype = {},
                  DType of_indices = DType::kInt32, std::source_location where = std::source_location::current());
/// From parts, which a call checks. UserError unless indptr has one element more than there are rows (of CSC columns).
Sparse csr(const Operand& data, const Operand& indices, const Operand& indptr, const Length& columns);
Sparse csc(const Operand& data, const Operand& indices, const Operand& indptr, const Length& rows);
/// The elements of a dense matrix that are not 0; how many only the data decides. Derivatives go to these elements.
Sparse csr_from_dense(const Operand& x);
Sparse csc_from_dense(const Operand& x);
/// From elements (values[e] at rows[e], columns[e]) in any order; those of one place are added. A place outside of the
/// matrix is an error of the call.
Sparse csr_from_coordinates(const Operand& values, const Operand& rows, const Operand& columns,
                            const LengthList& lengths);

/// From parts whose indices have any order in each row; those of one place are added.
Sparse csr_from_unsorted(const Operand& data, const Operand& indices, const Operand& indptr, const Length& columns);

/// a, whose derivatives are those of all elements of `whole`, a dense expression of the same value: what is computed of
/// a is computed by its stored elements, and derived by `whole`. regular(a, dense(a)) has them for any a, and
/// regular(csr_from_dense(x), x) brings them to elements of x that are 0, too. Backward passes then make dense matrices
/// of this shape. What has no elements but the stored ones, structured() and sampled_dot(), is structured again.
/// UserError unless both have one floating dtype.
Sparse regular(const SparseOperand& a, const Operand& whole);

/// The dense matrix of all elements.
Expr dense(const SparseOperand& a);
/// The row and the column of each stored element, in the dtype of its indices.
std::array<Expr, 2> coordinates(const SparseOperand& a);
/// The same elements row by row, or column by column.
Sparse to_csr(const SparseOperand& a);
Sparse to_csc(const SparseOperand& a);

/// f of the stored elements, the others stay 0: structured(a, [](const Expr& x) { return exp(x); }). f gives a value
/// for each element of a vector (UserError otherwise).
Sparse structured(const SparseOperand& a, const std::function<Expr(const Expr&)>& f);
/// f(a, x) where a stores elements, for a dense x of a's shape, or one that broadcasts to it: structured(a, v, add)
/// adds v[j] to the stored elements of column j.
Sparse structured(const SparseOperand& a, const Operand& x, const std::function<Expr(const Expr&, const Expr&)>& f);
/// f(a, b) where one of two sparse matrices stores elements, or both; the other has 0 there.
Sparse structured(const SparseOperand& a, const SparseOperand& b,
                  const std::function<Expr(const Expr&, const Expr&)>& f);
Sparse cast(const SparseOperand& a, DType dtype);
Sparse operator-(const SparseOperand& a);
/// By a scalar. (a * s adds nothing where a stores nothing: NaN and infinities of s do not reach those.)
Sparse operator*(const SparseOperand& a, const Operand& scalar);
Sparse operator*(const Operand& scalar, const SparseOperand& a);
/// Row i times s[i]; column j times s[j].
Sparse row_scale(const SparseOperand& a, const Operand& s);
Sparse column_scale(const SparseOperand& a, const Operand& s);
/// a * x by element, where x is a dense matrix of the same shape, or broadcasts to it: the stored elements.
Sparse multiply(const SparseOperand& a, const Operand& x);
/// Sums and products of two sparse matrices by element: the sum stores what either stores, the product what both store.
Sparse operator+(const SparseOperand& a, const SparseOperand& b);
Sparse operator-(const SparseOperand& a, const SparseOperand& b);
Sparse multiply(const SparseOperand& a, const SparseOperand& b);
/// The sum with a dense matrix, which is dense.
Expr operator+(const SparseOperand& a, const Operand& x);

/// a < b, a > b and a != b, bools: false wherever neither stores an element, and sparse therefore.
Sparse lt(const SparseOperand& a, const SparseOperand& b);
Sparse gt(const SparseOperand& a, const SparseOperand& b);
Sparse neq(const SparseOperand& a, const SparseOperand& b);
/// a <= b, a >= b and a == b, true wherever neither stores an element: dense bools.
Expr le(const SparseOperand& a, const SparseOperand& b);
Expr ge(const SparseOperand& a, const SparseOperand& b);
Expr eq(const SparseOperand& a, const SparseOperand& b);
/// All elements compared with a scalar or a dense matrix: dense bools. structured(a, x, lt) compares the stored ones.
Expr lt(const SparseOperand& a, const Operand& x);
Expr le(const SparseOperand& a, const Operand& x);
Expr gt(const SparseOperand& a, const Operand& x);
Expr ge(const SparseOperand& a, const Operand& x);
Expr eq(const SparseOperand& a, const Operand& x);
Expr neq(const SparseOperand& a, const Operand& x);

/// The rows and the columns that slices, integer vectors or masks name, every row with every column: SciPy's
/// a[rows][:, columns]. One index takes rows. Costs what is read of the rows (of CSC the columns) and, for columns,
/// the elements in them; columns by number or mask are sorted by counting.
Sparse subtensor(const SparseOperand& a, const std::vector<Index>& indices);
/// The elements a[i, j] for integers or integer vectors i and j, which broadcast; negative ones count from the end.
Expr elements(const SparseOperand& a, const Operand& i, const Operand& j);
/// Matrices one below the other, or side by side, in the format of the first. Their other lengths agree.
Sparse vstack(const std::vector<SparseOperand>& matrices, std::source_location where = std::source_location::current());
Sparse hstack(const std::vector<SparseOperand>& matrices, std::source_location where = std::source_location::current());

/// Without the stored elements that are 0.
Sparse remove_zeros(const SparseOperand& a);
/// The sum of all elements; of each column (axis 0); of each row (axis 1 or -1).
Expr sum(const SparseOperand& a);
Expr sum(const SparseOperand& a, int64_t axis);
/// The elements [i, i].
Expr diagonal(const SparseOperand& a);
/// The square matrix with these elements on its diagonal.
Sparse square_diagonal(const Operand& x);

/// a x for a dense vector or matrix x, and x a. The gradient with respect to a is that of its stored elements, which
/// costs as much as the product (csr_sampled_dot).
Expr dot(const SparseOperand& a, const Operand& x);
Expr dot(const Operand& x, const SparseOperand& a);
/// The product of two sparse matrices, sparse.
Sparse dot(const SparseOperand& a, const SparseOperand& b);
/// pattern * (x y^T) by element, of which only the stored elements are computed: x [rows, k], y [columns, k].
Sparse sampled_dot(const SparseOperand& pattern, const Operand& x, const Operand& y);

}  // namespace thtrain
