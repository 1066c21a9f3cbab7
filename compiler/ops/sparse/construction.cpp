#include "compiler/ops/sparse/construction.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {

const Dim& major_of(const Sparse& a) {
  return a.format == SparseFormat::kCsr ? a.rows : a.columns;
}
const Dim& minor_of(const Sparse& a) {
  return a.format == SparseFormat::kCsr ? a.columns : a.rows;
}
Expr majors_of(const Sparse& a) {
  return csr_rows(a.indptr, a.indices);
}
Expr places_of(const Sparse& a) {
  return cast(majors_of(a), DType::kInt64) * length_as_value(minor_of(a)) + cast(a.indices, DType::kInt64);
}
Expr length_as_value(const Dim& dim) {
  return length(broadcast_to(0, {dim}), 0);
}

Sparse in_format(const Sparse& a, SparseFormat format) {
  return format == SparseFormat::kCsr ? to_csr(a) : to_csc(a);
}
Sparse with_data(const Sparse& a, Expr data) {
  Sparse out = a;
  out.data = std::move(data);
  out.whole = {};
  return out;
}
Sparse with_elements(const Sparse& a, const Expr& kept, Expr data) {
  Sparse out = with_data(a, std::move(data));
  out.indices = take(a.indices, kept);
  out.indptr = cast(searchsorted(kept, cast(a.indptr, DType::kInt64)), a.indptr.dtype());
  return out;
}

Ranges ranges(const Expr& first, const Expr& counts) {
  const Expr begins = join(0, {make_constant(Tensor::vector<int64_t>({0})), cumsum(counts, 0)});
  const Dim all = computed_length(subtensor(begins, {-1}));
  const Expr of = csr_rows(begins, zeros({all}, DType::kInt64));
  return {.numbers = take(first - subtensor(begins, {Slice{.stop = -1}}), of) + arange(length(of, 0)),
          .of = of,
          .begins = begins};
}

Sparse of_kind(const Sparse& a, Sparse made, const OfWhole& f) {
  if (a.whole.has_value()) made.whole = f(a.whole);
  return made;
}
Expr of_kind(const Sparse& a, const Expr& made, const OfWhole& f) {
  return a.whole.has_value() ? regular_gradient(made, f(a.whole)) : made;
}
Sparse of_kind(const Sparse& a, const Sparse& b, Sparse made,
               const std::function<Expr(const Expr& whole_a, const Expr& whole_b)>& f) {
  if (!a.whole.has_value() && !b.whole.has_value()) return made;
  made.whole = f(a.whole.has_value() ? a.whole : dense(a), b.whole.has_value() ? b.whole : dense(b));
  return made;
}

static bool are_known_to_differ(const Dim& x, const Dim& y) {
  return x.is_known() && y.is_known() && !(x == y);
}

Sparse with_equal_lengths(Sparse a, const Dims& left, const Dims& right, const std::string& what) {
  Dims pairs;
  for (size_t i = 0; i < left.size(); ++i)
    if (!(left[i] == right[i])) pairs.insert(pairs.end(), {left[i], right[i]});
  if (!pairs.empty())
    a.indptr = apply(specify_lengths_op(), {a.indptr}, {{"dims", a.indptr.dims()}, {"equal", pairs}, {"whose", what}});
  return a;
}

Sparse of_shape(const Sparse& b, const Sparse& a, const char* what, const std::source_location& where) {
  if (are_known_to_differ(a.rows, b.rows) || are_known_to_differ(a.columns, b.columns))
    fail_build(where, str(what, ": sparse matrices of different shapes"), {},
               str("[", a.rows.text(), ", ", a.columns.text(), "] and [", b.rows.text(), ", ", b.columns.text(), "]"));
  return with_equal_lengths(b, {a.rows, a.columns}, {b.rows, b.columns}, what);
}

Aligned aligned(const Sparse& a, const Sparse& b) {
  const Expr width = length_as_value(minor_of(a));
  const Expr of_a = places_of(a);
  const Unique places = unique(join(0, {of_a, places_of(b)}));
  const auto [to_a, to_b] =
      std::pair{rows(places.inverse, 0, a.stored()), rows(places.inverse, length(of_a, 0), b.stored())};
  const auto placed = [&](const Expr& data, const Expr& to) {
    return scatter_add(zeros(places.values.dims(), data.dtype()), to, data);
  };
  Aligned out{.pattern = a, .left = placed(a.data, to_a), .right = placed(b.data, to_b)};
  out.pattern.data = out.left;
  out.pattern.indices = cast(mod(places.values, width), a.indices.dtype());
  out.pattern.indptr =
      cast(searchsorted(places.values, arange(length_as_value(major_of(a)) + 1) * width), a.indptr.dtype());
  return out;
}

}  // namespace thtrain
