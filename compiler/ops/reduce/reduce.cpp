#include "compiler/ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr reduce(const Op& op, const Operand& operand, const Axes& axes, bool keepdims) {
  Expr x = operand.expr();
  Ints sorted = reduced_axes(axes, x.rank(), op.name, Origin::here(operand.where()));
  return apply(op, {x}, {{"axes", sorted}, {"keepdims", keepdims}}, operand.where());
}

// How many elements a result is made of, as a scalar of a floating dtype.
Expr count_of(const Expr& x, const Ints& axes, DType dtype) {
  Dim count = 1;
  for (int64_t axis : axes) count = count * x.dims()[static_cast<size_t>(axis)];
  if (count.is_known()) return make_constant(Tensor(count.value()).cast(dtype));
  return cast(apply(length_op(), {}, {{"dim", Dims{count}}}), dtype);
}

// A number that is not negative by rounding; NaN stays.
Expr not_negative(const Expr& x) {
  return maximum(x, 0);
}

}  // namespace

Ints reduced_axes(const Axes& axes, size_t rank, const std::string& what, const Origin& origin) {
  auto fail = [&](std::string problem, std::string expected) {
    throw UserError({.what = str(what, ": ", problem),
                     .expected = std::move(expected),
                     .got = str("axes [", join(axes.given(), ", "), "] of ", rank, " dimensions"),
                     .node = origin.text(),
                     .config = origin.config()});
  };
  Ints out;
  int64_t n = static_cast<int64_t>(rank);
  for (int64_t axis : axes.given()) {
    if (axis < -n || axis >= n)
      fail(str("there is no axis ", axis),
           n == 0 ? "no axis: a scalar has none" : str("an axis from ", -n, " to ", n - 1));
    out.push_back(axis < 0 ? axis + n : axis);
  }
  std::sort(out.begin(), out.end());
  auto twice = std::adjacent_find(out.begin(), out.end());
  if (twice != out.end()) fail(str("axis ", *twice, " is named twice"), "each axis once");
  if (axes.given().empty())
    for (int64_t axis = 0; axis < n; ++axis) out.push_back(axis);
  return out;
}

Expr sum(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return reduce(sum_op(), x, axes, keepdims);
}
Expr prod(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return reduce(prod_op(), x, axes, keepdims);
}
Expr min(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return reduce(min_op(), x, axes, keepdims);
}
Expr max(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return reduce(max_op(), x, axes, keepdims);
}
Expr any(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return reduce(any_op(), x, axes, keepdims);
}
Expr all(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return reduce(all_op(), x, axes, keepdims);
}

Expr mean(const Operand& operand, const Axes& axes, KeepDims keepdims) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  Expr x = operand.expr();
  Ints sorted = reduced_axes(axes, x.rank(), "mean", origin);
  DType dtype = to_float(x.dtype());
  // Small integers are summed exactly; those of 64 bits could wrap around.
  if (is_int(x.dtype()) && size_of(x.dtype()) == 8) x = cast(x, dtype);
  return cast(reduce(sum_op(), x, sorted, keepdims), dtype) / count_of(x, sorted, dtype);
}

// As in NumPy, never below 0.
template <class Reduce>
static Expr in_dtypes(const Operand& operand, const ReduceDTypes& dtypes, const Reduce& reduced) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  const std::optional<DType> inside = dtypes.acc_dtype ? dtypes.acc_dtype : dtypes.dtype;
  const DType outside = dtypes.dtype ? *dtypes.dtype : reduced(x).dtype();
  return cast(reduced(inside ? cast(x, *inside) : x), outside);
}

Expr sum(const Operand& x, const Axes& axes, KeepDims keepdims, const ReduceDTypes& dtypes) {
  return in_dtypes(x, dtypes, [&](const Expr& v) { return sum(v, axes, keepdims); });
}
Expr prod(const Operand& x, const Axes& axes, KeepDims keepdims, const ReduceDTypes& dtypes) {
  return in_dtypes(x, dtypes, [&](const Expr& v) { return prod(v, axes, keepdims); });
}
Expr mean(const Operand& x, const Axes& axes, KeepDims keepdims, const ReduceDTypes& dtypes) {
  return in_dtypes(x, dtypes, [&](const Expr& v) { return mean(v, axes, keepdims); });
}

static Expr divisor_of(const Expr& count, Ddof ddof) {
  return ddof.count() > 0 ? maximum(count - ddof.count(), 0) : count - ddof.count();
}

Expr var(const Operand& operand, const Axes& axes, KeepDims keepdims, Ddof ddof) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  Expr x = cast(operand, to_float(operand.expr().dtype()));
  Ints sorted = reduced_axes(axes, x.rank(), "var", origin);
  Expr away = x - mean(x, sorted, true);
  if (is_complex(x.dtype())) {
    Expr squares = sqr(real(away)) + sqr(imag(away));
    return sum(squares, sorted, keepdims) / divisor_of(count_of(x, sorted, squares.dtype()), ddof);
  }
  Expr count = count_of(x, sorted, x.dtype());
  Expr rounding = sqr(sum(away, sorted, keepdims)) / count;
  return not_negative(sum(sqr(away), sorted, keepdims) - rounding) / divisor_of(count, ddof);
}

Expr std(const Operand& x, const Axes& axes, KeepDims keepdims, Ddof ddof) {
  Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return sqrt(var(x, axes, keepdims, ddof));
}

std::pair<Expr, Expr> max_and_argmax(const Operand& x, std::optional<int64_t> axis, KeepDims keepdims) {
  return {max(x, axis ? Axes(*axis) : Axes(), keepdims), argmax(x, axis, keepdims)};
}

Expr ptp(const Operand& x, const Axes& axes, KeepDims keepdims) {
  return sub(Operand(max(x, axes, keepdims), x.where()), min(x, axes, keepdims));
}

Expr norm(const Operand& operand, std::optional<double> order, const Axes& axes, KeepDims keepdims) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = cast(operand, to_float(operand.expr().dtype()));
  const Ints over = reduced_axes(axes, x.rank(), "norm", origin);
  if (!order || (*order == 2 && over.size() == 1))
    return sqrt(sum(is_complex(x.dtype()) ? sqr(real(x)) + sqr(imag(x)) : sqr(x), over, keepdims));
  const double p = *order;
  const Expr size = abs(x);
  if (over.size() == 1) {
    if (std::isinf(p)) return p > 0 ? max(size, over, keepdims) : min(size, over, keepdims);
    if (p == 0) return sum(cast(neq(x, 0), size.dtype()), over, keepdims);
    return p == 1 ? sum(size, over, keepdims) : pow(sum(pow(size, p), over, keepdims), 1 / p);
  }
  if (over.size() != 2 || !(std::isinf(p) || std::abs(p) == 1 || std::abs(p) == 2))
    fail_build(operand.where(), str("norm: there is no order ", p, " over ", over.size(), " axes"),
               over.size() == 2 ? "1, -1, 2, -2, inf, -inf, or no order" : "one axis or two, or no order",
               value_text(x));
  if (std::abs(p) == 2) {
    const Expr s = svdvals(moveaxis(x, over, {-2, -1})), out = p > 0 ? max(s, -1) : min(s, -1);
    return keepdims ? expand_dims(out, over) : out;
  }
  const bool in_order = axes.given().empty() || reduced_axes(axes.given()[0], x.rank(), "norm", origin)[0] == over[0];
  const Expr sums = sum(size, over[std::isinf(p) == in_order ? 1 : 0], true);
  return p > 0 ? max(sums, over, keepdims) : min(sums, over, keepdims);
}

Expr cov(const Operand& operand, Ddof ddof) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = cast(operand, to_float(operand.expr().dtype()));
  if (x.rank() != 1 && x.rank() != 2)
    fail_build(operand.where(), "cov: neither a vector nor a matrix", "1 axis, or 2", value_text(x));
  const Expr away = x - mean(x, -1, true);
  const Ints observations{static_cast<int64_t>(x.rank()) - 1};
  return dot(away, transpose(conj(away))) / divisor_of(count_of(x, observations, real_dtype(x.dtype())), ddof);
}

}  // namespace thtrain
