// Builders over sort and argsort: the greatest elements, different elements; and differences.
#include "compiler/base/ceil_div.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/order/last_axis.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static void require_elements(const Operand& operand, const Dim& k, int64_t axis) {
  const Expr x = operand.expr();
  const Dim& n = x.dims()[axis_of(axis, x, "topk", operand.where())];
  if (k.is_known() && (k.value() < 0 || (n.is_known() && k.value() > n.value())))
    fail_build(operand.where(), str("topk: ", k.value(), " elements are asked for"),
               str("from 0 to ", n.is_known() ? n.text() : "the length of the axis"), value_text(x));
}

// A row is known to be long, and few of it are wanted: the first k are among the first k of its parts. Their number and
// length, and what is left; parts of 0 elements: they do not pay.
struct RowParts {
  int64_t count = 0, length = 0, rest = 0;
};
static RowParts parts_of_row(const Dim& n, const Dim& k) {
  constexpr int64_t kLength = 8192, kLeastParts = 3, kLeastShare = 16;  // which sort in the second cache
  if (!n.is_known() || !k.is_known() || n.value() < kLeastParts * kLength || k.value() * kLeastShare > kLength)
    return {};
  const int64_t count = ceil_div(n.value(), kLength);
  return {count, n.value() / count, n.value() % count};
}

// Of equal elements the first parts' come first, and within a part the first ones.
static Expr first_of_parts(const Expr& rows, const RowParts& parts, const Dim& k, const Props& props) {
  const auto last = static_cast<int64_t>(rows.rank()) - 1;
  Dims dims = rows.dims();
  const Dim split = parts.count * parts.length;
  const auto with_last = [&](std::vector<Dim> lengths) {
    Dims out(dims.begin(), dims.end() - 1);
    out.insert(out.end(), lengths.begin(), lengths.end());
    return out;
  };
  const Expr of_parts = reshape(slice_axis(rows, last, 0, split), with_last({parts.count, parts.length}));
  const Expr starts = dimshuffle(arange(parts.count) * parts.length, {0, -1});
  std::vector<Operand> among = {reshape(apply(argsort_op(), {of_parts}, props) + starts, with_last({k * parts.count}))};
  if (parts.rest > 0)
    among.emplace_back(broadcast_to(arange(split.value(), split.value() + parts.rest), with_last({parts.rest})));
  const Expr positions = join(last, among);
  const Expr first = apply(argsort_op(), {take_along_axis(rows, positions, last)}, props);
  return take_along_axis(positions, first, last);
}

Expr argtopk(const Operand& x, const Length& k, int64_t axis, Extreme extreme) {
  require_elements(x, k.dim(), axis);
  Props props{{"count", Dims{k.dim()}}};
  if (extreme == Extreme::kLargest) props.set("descending", true);
  return along_last_axis(x, axis, "argtopk", [&](const Expr& rows) {
    const RowParts parts = parts_of_row(rows.dims().back(), k.dim());
    return parts.length > 0 ? first_of_parts(rows, parts, k.dim(), props)
                            : apply(argsort_op(), {rows}, props, x.where());
  });
}

Expr topk(const Operand& x, const Length& k, int64_t axis, Extreme extreme) {
  return take_along_axis(x, argtopk(x, k, axis, extreme), axis);
}

// Is an element of a sorted vector the first of equal ones? NaN equals NaN here.
static Expr are_first(const Expr& sorted) {
  const Dim& n = sorted.dims()[0];
  const Expr now = subtensor(sorted, {Slice{.start = 1}}), before = subtensor(sorted, {Slice{.stop = -1}});
  const Expr differs =
      is_float(sorted.dtype()) ? logical_and(neq(now, before), logical_not(isnan(before))) : neq(now, before);
  return join(0, {ones({min(n, Dim(1))}, DType::kBool), differs});
}

Unique unique(const Operand& operand) {
  const Expr x = operand.expr(), flat = flatten(operand);
  const Expr order = argsort(flat, 0), sorted = sort(Operand(flat, operand.where()), 0);
  const Expr is_first = are_first(sorted), firsts = flatnonzero(is_first);
  const Expr number = cumsum(is_first, 0) - 1;
  const Expr inverse = scatter_add(zeros(flat.dims(), DType::kInt64), order, number);
  return {.values = take(sorted, firsts),
          .index = take(order, firsts),
          .inverse = reshape(inverse, x.dims()),
          .counts = diff(join(0, {firsts, expand_dims(length(flat, 0), {0})}))};
}

Expr diff(const Operand& operand, int64_t n, int64_t axis) {
  Expr x = operand.expr();
  const size_t along = axis_of(axis, x, "diff", operand.where());
  if (n < 0) fail_build(operand.where(), "diff: a negative number of differences", "n >= 0", std::to_string(n));
  std::vector<Index> after(along, Slice{}), before(along, Slice{});
  after.emplace_back(Slice{.start = 1});
  before.emplace_back(Slice{.stop = -1});
  for (int64_t i = 0; i < n; ++i) {
    const Expr later = subtensor(Operand(x, operand.where()), after), earlier = subtensor(x, before);
    x = is_bool(x.dtype()) ? neq(later, earlier) : later - earlier;
  }
  return x;
}

}  // namespace thtrain
