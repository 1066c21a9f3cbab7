// Builders of values whose elements depend on their row and column: diagonals, triangles, a window.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static void require_matrices(const Operand& x, std::string_view builder) {
  if (x.expr().rank() < 2) fail_build(x.where(), str(builder, ": no matrix"), "2 axes or more", value_text(x.expr()));
}

// 0, 1, ..., n - 1.
static Expr numbers_below(const Dim& n) {
  return apply(arange_op(), {},
               {{"first", Dims{0}}, {"step", int64_t{1}}, {"dims", Dims{n}}, {"dtype", DType::kInt64}});
}

// Column minus row of the elements of a matrix of these lengths.
static Expr columns_minus_rows(const Dim& rows, const Dim& columns) {
  return expand_dims(numbers_below(columns), {0}) - expand_dims(numbers_below(rows), {1});
}

Expr identity_like(const Operand& x, std::optional<DType> dtype) {
  const Expr like = x.expr();
  if (like.rank() != 2) fail_build(x.where(), "identity_like: no matrix", "2 axes", value_text(like));
  return eye(like.dims()[0], like.dims()[1], 0, dtype.value_or(like.dtype()), x.where());
}

Expr tri(const Length& n, std::optional<Length> m, int64_t k, std::optional<DType> dtype, std::source_location where) {
  Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  return cast(le(columns_minus_rows(n.dim(), m ? m->dim() : n.dim()), k), dtype.value_or(floatX()));
}

// The last two axes of x, and 0 where the elements are outside of the triangle.
static Expr triangle_of(const Operand& operand, const char* builder, Expr (*is_inside)(const Operand&, const Operand&),
                        int64_t k) {
  require_matrices(operand, builder);
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  const Dims& dims = x.dims();
  return where(is_inside(columns_minus_rows(dims[dims.size() - 2], dims.back()), k), x, cast(0, x.dtype()));
}

Expr tril(const Operand& x, int64_t k) {
  return triangle_of(x, "tril", le, k);
}

Expr triu(const Operand& x, int64_t k) {
  return triangle_of(x, "triu", ge, k);
}

Expr diagonal(const Operand& operand, int64_t offset, int64_t axis1, int64_t axis2) {
  require_matrices(operand, "diagonal");
  const Expr x = operand.expr();
  const size_t first = axis_of(axis1, x, "diagonal", operand.where()),
               second = axis_of(axis2, x, "diagonal", operand.where());
  if (first == second)
    fail_build(operand.where(), str("diagonal: both axes are axis ", first), "different axes", value_text(x));
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr matrices = moveaxis(operand, {axis1, axis2}, {0, 1});
  const Dim row = offset < 0 ? 0 - Dim(offset) : Dim(0), column = offset > 0 ? Dim(offset) : Dim(0);
  const Expr i = numbers_below(at_least_zero(min(x.dims()[first] - row, x.dims()[second] - column)));
  const auto from = [&](const Dim& start) { return start.is(0) ? i : i + start.value(); };
  return moveaxis(gather(matrices, {from(row), from(column)}), 0, -1);
}

Expr diag(const Operand& operand, int64_t k) {
  const Expr x = operand.expr();
  if (x.rank() == 2) return diagonal(operand, k);
  if (x.rank() != 1)
    fail_build(operand.where(), "diag: neither a vector nor a matrix", "1 axis, or 2", value_text(x),
               "diagonal(x, offset, axis1, axis2) takes more axes");
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Dim distance = k < 0 ? 0 - Dim(k) : Dim(k), n = x.dims()[0] + distance;
  const Expr longer = k == 0 ? x : join(0, {x, zeros({distance}, x.dtype())});
  // Above the diagonal the row says which element it is, below it the column.
  return where(eye(n, n, k, DType::kBool), expand_dims(longer, {k < 0 ? 0 : 1}), cast(0, x.dtype()));
}

Expr fill_diagonal(const Operand& operand, const Operand& value, int64_t offset) {
  const std::vector<Expr> both = resolve({&operand, &value});
  const Expr &x = both[0], &y = both[1];
  if (x.rank() != 2) fail_build(operand.where(), "fill_diagonal: no matrix", "2 axes", value_text(x));
  if (y.rank() != 0 || promote(x.dtype(), y.dtype()) != x.dtype())
    fail_build(value.where(), "fill_diagonal: the value is no scalar that the matrix can hold",
               str("a scalar that ", name_of(x.dtype()), " holds"), str(value_text(y), " for ", value_text(x)));
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  return where(eye(x.dims()[0], x.dims()[1], offset, DType::kBool), y, x);
}

Expr bartlett(const Operand& n, std::optional<DType> dtype) {
  if (const Expr given = n.expr(); !is_int(given.dtype()) || given.rank() > 0)
    fail_build(n.where(), "bartlett: the number of points is no integer", "an integer scalar", value_text(given));
  Origin origin = Origin::here(n.where());
  InheritOrigin inherit(origin);
  const Expr count = cast(n, DType::kInt64);
  const DType kind = dtype.value_or(floatX());
  return 1 - abs(cast(arange(1 - count, count, 2), kind)) / cast(maximum(count - 1, 1), kind);
}

}  // namespace thtrain
