#include "compiler/ops/sparse/sparse.h"

#include "compiler/ir/variables.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/ops/sparse/construction.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

/// The factors of rows or columns.
Expr vector_of_length(const Operand& s, const Dim& length, const char* what) {
  if (s.expr().rank() != 1)
    fail_build(s.where(), str(what, ": the factors are no vector"), "one axis", value_text(s.expr()));
  return specify_lengths(s, {length}, what);
}

/// A dense operand whose axis 0 has that length, or a call fails.
Expr with_length(const Expr& x, const Dim& length, const std::source_location& where, const char* what) {
  Dims dims = x.dims();
  if (dims.empty())
    fail_build(where, str(what, ": the dense value is a scalar"), "a vector or a matrix", value_text(x));
  dims[0] = length;
  return specify_lengths(Operand(x, where), dims, what);
}

Sparse input_matrix(SparseFormat format, const std::string& name, const Dim& rows, const Dim& columns,
                    std::optional<DType> dtype, DType of_indices, const std::source_location& where) {
  Sparse out;
  out.format = format;
  out.rows = rows;
  out.columns = columns;
  const Dim stored = Dim::named(str(name, "_stored"), where);
  out.data = tensor(str(name, ".data"), {stored}, dtype.value_or(floatX()), where);
  out.indices = tensor(str(name, ".indices"), {stored}, of_indices, where);
  out.indptr = tensor(str(name, ".indptr"), {major_of(out) + Dim(1)}, of_indices, where);
  out.indptr = csr_checked(out.indices, out.indptr, minor_of(out), where);
  return out;
}

Sparse from_parts(SparseFormat format, const Operand& data, const Operand& indices, const Operand& indptr,
                  const Length& minor) {
  const Expr ends = indptr.expr(), elements = data.expr();
  if (ends.rank() != 1)
    fail_build(indptr.where(), "a sparse matrix: indptr is no vector", "one element more than there are rows",
               value_text(ends));
  if (elements.rank() != 1)
    fail_build(data.where(), "a sparse matrix: the stored elements are no vector", "as many as indices",
               value_text(elements));
  const Dim major = ends.dims()[0] - Dim(1);
  const bool is_csr = format == SparseFormat::kCsr;
  return {.format = format,
          .data = elements,
          .indices = indices.expr(),
          .indptr = csr_checked(indices.expr(), ends, minor.dim(), data.where()),
          .rows = is_csr ? major : minor.dim(),
          .columns = is_csr ? minor.dim() : major};
}

/// The value at each stored element: a scalar for all, a vector by columns as broadcasting has it, a matrix that may
/// have one row or one column. Nothing of a's shape is made, in derivatives either, where x has not that shape.
Expr at_stored(const Sparse& a, const Operand& operand, const char* what) {
  if (operand.is_literal()) return operand.for_dtype(a.dtype());
  const Expr x = operand.expr();
  if (x.rank() == 0) return x;
  if (x.rank() > 2)
    fail_build(operand.where(), str(what, ": the dense value has more axes than a matrix"), "at most two",
               value_text(x));
  const auto [rows, columns] = coordinates(a);
  const auto along = [&](const Expr& vector, const Dim& length, const Expr& numbers) {
    return take(with_length(vector, length, operand.where(), what), numbers);
  };
  if (x.rank() == 1) return x.dims()[0].is(1) ? squeeze(x) : along(x, a.columns, columns);
  if (x.dims()[0].is(1) && x.dims()[1].is(1)) return squeeze(x);
  if (x.dims()[0].is(1)) return along(squeeze(x, {0}), a.columns, columns);
  if (x.dims()[1].is(1)) return along(squeeze(x, {1}), a.rows, rows);
  return specify_lengths(operand, {a.rows, a.columns}, what)[{rows, columns}];
}

Expr of_as_many(Expr data, const Expr& as, const std::source_location& where) {
  if (!data.has_value() || data.dims() != as.dims())
    fail_build(where, "structured: the function gives no vector of as many elements", value_text(as),
               data.has_value() ? value_text(data) : "an empty expression");
  return data;
}

Sparse of_both(const SparseOperand& left, const SparseOperand& right, const char* what,
               const std::function<Expr(const Expr&, const Expr&)>& f) {
  const CallersLine line(left.where());
  const Sparse &a = left.value(), b = of_shape(right.value(), a, what, left.where());
  const Aligned both = aligned(a, in_format(b, a.format));
  return with_data(both.pattern, of_as_many(f(both.left, both.right), both.left, left.where()));
}

/// Real and imaginary products, of which a complex one consists.
Expr product(const Sparse& a, const Expr& dense, const std::source_location& where) {
  const Expr x = with_length(dense, a.columns, where, "sparse dot");
  const auto of = [&](const Expr& data, const Expr& y) {
    return csr_dot(data, a.indices, a.indptr, y, a.format == SparseFormat::kCsr ? Dims() : Dims{a.rows});
  };
  if (!is_complex(a.dtype())) return of(a.data, x);
  const Expr re = real(a.data), im = imag(a.data), x_re = real(x), x_im = imag(x);
  return complex(of(re, x_re) - of(im, x_im), of(re, x_im) + of(im, x_re));
}

/// Elements at these places in row-major order, int64; those of one place are added.
Sparse added_at(const Expr& values, const Expr& place, const Dim& rows, const Dim& columns) {
  const Expr height = length_as_value(rows), width = length_as_value(columns);
  const Unique places = unique(place);
  return {.data = scatter_add(zeros(places.values.dims(), values.dtype()), places.inverse, values),
          .indices = cast(mod(places.values, width), DType::kInt32),
          .indptr = cast(searchsorted(places.values, arange(height + 1) * width), DType::kInt32),
          .rows = rows,
          .columns = columns};
}

// Every pair of an element of a and one of the row of b that it meets, then sums of those of one place.
Sparse product_by_pairs(const Sparse& a, const Sparse& b) {
  const Sparse left = to_csr(a), right = to_csr(b);
  const CsrMeetings pairs = csr_meetings(left.indices, left.indptr, right.indices, right.indptr, b.columns);
  return added_at(take(left.data, pairs.left) * take(right.data, pairs.right), pairs.places, a.rows, b.columns);
}

// Rows of at most so many columns are sorted as they are made; wider ones, which may have few elements, by transposing
// the product of the transposes: (A B)^T = B^T A^T.
constexpr int64_t kColumnsSorted = 65536;

Sparse product_by_rows(const Sparse& a, const Sparse& b) {
  const bool sorted = b.columns.is_known() && b.columns.value() <= kColumnsSorted;
  const Sparse left = sorted ? to_csr(a) : to_csc(b), right = sorted ? to_csr(b) : to_csc(a);
  const CsrProduct product = csr_product(left.data, left.indices, left.indptr, right.data, right.indices, right.indptr,
                                         sorted ? b.columns : a.rows, sorted);
  Sparse out{.data = product.data,
             .indices = product.indices,
             .indptr = cast(product.indptr, product.indices.dtype()),
             .rows = a.rows,
             .columns = b.columns};
  if (sorted) return out;
  const CsrPattern pattern = csr_transposed(out.indices, out.indptr, a.rows);
  out.data = take(product.data, pattern.order);
  out.indices = pattern.indices;
  out.indptr = pattern.indptr;
  return out;
}

}  // namespace

Sparse Sparse::T() const {
  Sparse out = *this;
  out.format = format == SparseFormat::kCsr ? SparseFormat::kCsc : SparseFormat::kCsr;
  std::swap(out.rows, out.columns);
  if (whole.has_value()) out.whole = transpose(whole);
  return out;
}

SparseOperand::SparseOperand(const Sparse& value, std::source_location where) : value_(value), where_(where) {
  for (const Expr* part : {&value.data, &value.indices, &value.indptr})
    require_value(*part, "a part of a sparse matrix", where);
}

std::vector<Expr> Sparse::parts() const {
  const bool is_checked = indptr.has_value() && indptr.node().op == &csr_checked_op();
  return {data, indices, is_checked ? indptr.node().inputs[1] : indptr};
}

Sparse csr_matrix(const std::string& name, const Dim& rows, const Dim& columns, std::optional<DType> dtype,
                  DType of_indices, std::source_location where) {
  return input_matrix(SparseFormat::kCsr, name, rows, columns, dtype, of_indices, where);
}
Sparse csc_matrix(const std::string& name, const Dim& rows, const Dim& columns, std::optional<DType> dtype,
                  DType of_indices, std::source_location where) {
  return input_matrix(SparseFormat::kCsc, name, rows, columns, dtype, of_indices, where);
}
Sparse csr(const Operand& data, const Operand& indices, const Operand& indptr, const Length& columns) {
  return from_parts(SparseFormat::kCsr, data, indices, indptr, columns);
}
Sparse csc(const Operand& data, const Operand& indices, const Operand& indptr, const Length& rows) {
  return from_parts(SparseFormat::kCsc, data, indices, indptr, rows);
}

Sparse csr_from_dense(const Operand& operand) {
  const CallersLine line(operand.where());
  const Expr x = operand.expr();
  if (x.rank() != 2) fail_build(operand.where(), "csr_from_dense: the value is no matrix", "two axes", value_text(x));
  const Expr kept = flatnonzero(x), columns = length(x, 1);
  return {.data = take(flatten(x), kept),
          .indices = cast(mod(kept, columns), DType::kInt32),
          .indptr = cast(searchsorted(kept, arange(length(x, 0) + 1) * columns), DType::kInt32),
          .rows = x.dims()[0],
          .columns = x.dims()[1]};
}
Sparse csc_from_dense(const Operand& x) {
  return csr_from_dense(Operand(transpose(x), x.where())).T();
}

Sparse csr_from_coordinates(const Operand& values, const Operand& rows, const Operand& columns,
                            const LengthList& lengths) {
  const CallersLine line(values.where());
  Expr x = values.expr(), j = columns.expr();
  const Expr i = rows.expr();
  if (x.rank() != 1 || i.rank() != 1 || j.rank() != 1 || !is_int(i.dtype()) || !is_int(j.dtype()) ||
      lengths.dims.size() != 2)
    fail_build(values.where(), "csr_from_coordinates: no elements of a matrix",
               "vectors of values, rows and columns, of which these are integers, and two lengths",
               str(value_text(x), ", ", value_text(i), ", ", value_text(j), ", ", lengths.dims.size(), " lengths"));
  x = specify_lengths(x, i.dims(), "csr_from_coordinates: the values");
  j = specify_lengths(j, i.dims(), "csr_from_coordinates: the columns");
  const Expr height = length_as_value(lengths.dims[0]), width = length_as_value(lengths.dims[1]);
  const auto inside = [](const Expr& at, const Expr& end, const char* what) {
    return cast(check(at, logical_and(at >= 0, at < end), what), DType::kInt64);
  };
  const Expr place = inside(i, height, "csr_from_coordinates: a row is outside of the matrix") * width +
                     inside(j, width, "csr_from_coordinates: a column is outside of the matrix");
  return added_at(x, place, lengths.dims[0], lengths.dims[1]);
}

Sparse csr_from_unsorted(const Operand& data, const Operand& indices, const Operand& indptr, const Length& columns) {
  const CallersLine line(data.where());
  const Expr ends = indptr.expr();
  if (ends.rank() != 1)
    fail_build(indptr.where(), "csr_from_unsorted: indptr is no vector", "one element more than there are rows",
               value_text(ends));
  return csr_from_coordinates(data, csr_rows(ends, indices.expr()), indices, {ends.dims()[0] - Dim(1), columns});
}

std::array<Expr, 2> coordinates(const SparseOperand& operand) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  if (a.format == SparseFormat::kCsr) return {majors_of(a), a.indices};
  return {a.indices, majors_of(a)};
}

Sparse regular(const SparseOperand& operand, const Operand& whole) {
  const CallersLine line(operand.where());
  Sparse out = operand.value();
  const Expr x = whole.expr();
  if (!is_float(out.dtype()) || x.dtype() != out.dtype() || x.rank() != 2)
    fail_build(whole.where(), "regular: the dense form is no matrix of the sparse one's dtype, or that is no float",
               "a matrix of float32 or float64, both the same", str(value_text(out.data), " and ", value_text(x)));
  out.whole = specify_lengths(whole, {out.rows, out.columns}, "regular");
  return out;
}

Expr dense(const SparseOperand& operand) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const auto [rows, columns] = coordinates(a);
  return of_kind(a, set_subtensor(zeros({a.rows, a.columns}, a.dtype())[{rows, columns}], a.data),
                 [](const Expr& whole) { return whole; });
}

Sparse to_csc(const SparseOperand& a) {
  return to_csr(SparseOperand(a.value().T(), a.where())).T();
}
Sparse to_csr(const SparseOperand& operand) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  if (a.format == SparseFormat::kCsr) return a;
  const CsrPattern pattern = csr_transposed(a.indices, a.indptr, a.rows);
  return {.data = take(a.data, pattern.order),
          .indices = pattern.indices,
          .indptr = pattern.indptr,
          .rows = a.rows,
          .columns = a.columns,
          .whole = a.whole};
}

Sparse structured(const SparseOperand& operand, const std::function<Expr(const Expr&)>& f) {
  return with_data(operand.value(), of_as_many(f(operand.value().data), operand.value().data, operand.where()));
}
Sparse structured(const SparseOperand& operand, const Operand& x,
                  const std::function<Expr(const Expr&, const Expr&)>& f) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  return with_data(a, of_as_many(f(a.data, at_stored(a, x, "structured")), a.data, operand.where()));
}
Sparse structured(const SparseOperand& left, const SparseOperand& right,
                  const std::function<Expr(const Expr&, const Expr&)>& f) {
  return of_both(left, right, "structured", f);
}
Sparse cast(const SparseOperand& operand, DType dtype) {
  const Sparse& a = operand.value();
  Sparse out = with_data(a, cast(Operand(a.data, operand.where()), dtype));
  return is_float(dtype) ? of_kind(a, std::move(out), [&](const Expr& whole) { return cast(whole, dtype); }) : out;
}
Sparse operator-(const SparseOperand& a) {
  const CallersLine line(a.where());
  return of_kind(a.value(), with_data(a.value(), -a.value().data), [](const Expr& whole) { return -whole; });
}
Sparse operator*(const SparseOperand& a, const Operand& scalar) {
  const CallersLine line(a.where());
  if (!scalar.is_literal() && scalar.expr().rank() != 0)
    fail_build(scalar.where(), "a sparse matrix times a value with axes", "a scalar", value_text(scalar.expr()),
               "row_scale, column_scale and multiply take vectors and matrices");
  return of_kind(a.value(), with_data(a.value(), mul(a.value().data, scalar)),
                 [&](const Expr& whole) { return mul(whole, scalar); });
}
Sparse operator*(const Operand& scalar, const SparseOperand& a) {
  return a * scalar;
}
Sparse row_scale(const SparseOperand& operand, const Operand& s) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const Expr factors = vector_of_length(s, a.rows, "row_scale");
  return of_kind(a, with_data(a, a.data * take(factors, coordinates(a)[0])),
                 [&](const Expr& whole) { return whole * expand_dims(factors, {1}); });
}
Sparse column_scale(const SparseOperand& operand, const Operand& s) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const Expr factors = vector_of_length(s, a.columns, "column_scale");
  return of_kind(a, with_data(a, a.data * take(factors, coordinates(a)[1])),
                 [&](const Expr& whole) { return whole * factors; });
}
Sparse multiply(const SparseOperand& operand, const Operand& x) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  return of_kind(a, with_data(a, a.data * at_stored(a, x, "multiply")), [&](const Expr& whole) { return whole * x; });
}

Sparse operator+(const SparseOperand& a, const SparseOperand& b) {
  const auto add = [](const Expr& x, const Expr& y) { return x + y; };
  return of_kind(a.value(), b.value(), of_both(a, b, "+", add), add);
}
Sparse operator-(const SparseOperand& a, const SparseOperand& b) {
  const CallersLine line(a.where());
  return a + SparseOperand(-b, b.where());
}
Sparse multiply(const SparseOperand& left, const SparseOperand& right) {
  const CallersLine line(left.where());
  const Sparse &a = left.value(), b = of_shape(right.value(), a, "multiply", left.where());
  const Sparse other = in_format(b, a.format);
  const Expr place = places_of(a), others = places_of(other), at = searchsorted(others, place);
  const Expr found = take(join(0, {others, make_constant(Tensor::vector<int64_t>({-1}))}), at);
  const Expr kept = flatnonzero(eq(found, place));
  return of_kind(a, b, with_elements(a, kept, take(a.data, kept) * take(other.data, take(at, kept))),
                 [](const Expr& x, const Expr& y) { return x * y; });
}
Expr operator+(const SparseOperand& operand, const Operand& x) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const auto [rows, columns] = coordinates(a);
  return of_kind(a, inc_subtensor(broadcast_for(x, {a.rows, a.columns}, "add")[{rows, columns}], a.data),
                 [&](const Expr& whole) { return whole + x; });
}
Sparse remove_zeros(const SparseOperand& operand) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const Expr kept = flatnonzero(neq(a.data, 0));
  return of_kind(a, with_elements(a, kept, take(a.data, kept)), [](const Expr& whole) { return whole; });
}

Expr sum(const SparseOperand& a) {
  return of_kind(a.value(), sum(Operand(a.value().data, a.where())), [](const Expr& whole) { return sum(whole); });
}
Expr sum(const SparseOperand& operand, int64_t axis) {
  const std::source_location& where = operand.where();
  const CallersLine line(where);
  const Sparse& a = operand.value();
  if (axis < -2 || axis > 1) fail_build(where, "sum: a matrix has no such axis", "from -2 to 1", std::to_string(axis));
  const bool of_columns = axis == 0 || axis == -2;
  return of_kind(a, product(of_columns ? a.T() : a, ones({of_columns ? a.rows : a.columns}, a.dtype()), where),
                 [&](const Expr& whole) { return sum(whole, {axis}); });
}
Expr diagonal(const SparseOperand& operand) {
  const CallersLine line(operand.where());
  const Sparse& a = operand.value();
  const auto [rows, columns] = coordinates(a);
  const Expr here = switch_(eq(rows, columns), a.data, Operand(0).for_dtype(a.dtype()));
  const Expr of_rows = scatter_add(zeros({a.rows}, a.dtype()), rows, here);
  return of_kind(a, slice_of_axis(of_rows, 0, 0, min(a.rows, a.columns)),
                 [](const Expr& whole) { return diagonal(whole); });
}
Sparse square_diagonal(const Operand& operand) {
  const CallersLine line(operand.where());
  const Expr x = operand.expr();
  if (x.rank() != 1) fail_build(operand.where(), "square_diagonal: the value is no vector", "one axis", value_text(x));
  const Expr n = length(x, 0);
  return {.data = x,
          .indices = cast(arange(n), DType::kInt32),
          .indptr = cast(arange(n + 1), DType::kInt32),
          .rows = x.dims()[0],
          .columns = x.dims()[0]};
}

Expr dot(const SparseOperand& matrix, const Operand& operand) {
  const CallersLine line(operand.where());
  const Sparse& a = matrix.value();
  const Expr x = operand.expr();
  const DType common = promote(a.dtype(), x.dtype()).value_or(a.dtype());
  const Sparse left = a.dtype() == common ? a : cast(a, common);
  const Expr right = x.dtype() == common ? x : cast(x, common);
  return of_kind(left, product(left, right, operand.where()), [&](const Expr& whole) { return dot(whole, right); });
}
Expr dot(const Operand& x, const SparseOperand& a) {
  const CallersLine line(a.where());
  return transpose(dot(SparseOperand(a.value().T(), a.where()), Operand(transpose(x), x.where())));
}
Sparse dot(const SparseOperand& left, const SparseOperand& right) {
  const CallersLine line(left.where());
  const std::optional<DType> common = promote(left.value().dtype(), right.value().dtype());
  const auto with_common = [&](const SparseOperand& x) {
    return common && x.value().dtype() != *common ? cast(x, *common) : x.value();
  };
  const Dim &inner = left.value().columns, &rows = right.value().rows;
  if (inner.is_known() && rows.is_known() && inner != rows)
    fail_build(right.where(), "sparse dot: the inner lengths differ", str(inner.text(), " rows"),
               str(rows.text(), " rows"));
  const Sparse a = with_common(left), b = with_equal_lengths(with_common(right), {inner}, {rows}, "sparse dot");
  const bool has_kernel = !is_bool(a.dtype()) && !is_complex(a.dtype());
  return of_kind(a, b, has_kernel ? product_by_rows(a, b) : product_by_pairs(a, b),
                 [](const Expr& x, const Expr& y) { return dot(x, y); });
}
Sparse sampled_dot(const SparseOperand& operand, const Operand& x, const Operand& y) {
  const CallersLine line(x.where());
  const Sparse& pattern = operand.value();
  const bool is_csr = pattern.format == SparseFormat::kCsr;
  const Expr left = is_csr ? x.expr() : y.expr(), right = is_csr ? y.expr() : x.expr();
  return with_data(pattern, pattern.data * csr_sampled_dot(pattern.indices, pattern.indptr, left, right));
}

}  // namespace thtrain
