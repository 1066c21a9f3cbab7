// Builders over sort and argsort: the greatest elements, different elements; and differences.
#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/order/last_axis.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static void require_elements(const Operand& operand, const Dim& k, int64_t axis, std::string_view builder) {
  const Expr x = operand.expr();
  const Dim& n = x.dims()[axis_of(axis, x, builder, operand.where())];
  if (k.is_known() && (k.value() < 0 || (n.is_known() && k.value() > n.value())))
    fail_build(operand.where(), str(builder, ": ", k.value(), " elements are asked for"),
               str("from 0 to ", n.is_known() ? n.text() : "the length of the axis"), value_text(x));
}

// A row is known to be long, and few of it are wanted: they are in the blocks whose own first elements come first. The
// length of a block, such that there are about as many blocks as elements of the blocks that are chosen; 0: it does not
// pay.
static int64_t block_length(const Type& rows, const Dim& k) {
  constexpr int64_t kLeastLength = 16, kLeastGain = 8;
  const Dim& n = rows.dims.back();
  if (!n.is_known() || !k.is_known() || k.value() == 0 || is_bool(rows.dtype)) return 0;
  int64_t length = kLeastLength;
  while (length * length * k.value() < n.value()) length *= 2;
  return n.value() / kLeastGain >= k.value() * length ? length : 0;
}

// Of equal elements the first blocks' come first, and within a block the first ones.
static Expr first_of_blocks(const Expr& rows, int64_t length, const Dim& k, Extreme extreme, const Props& props) {
  const auto last = static_cast<int64_t>(rows.rank()) - 1;
  const int64_t n = rows.dims().back().value(), count = n / length;
  const auto with_last = [&](std::vector<Dim> lengths) {
    Dims out(rows.dims().begin(), rows.dims().end() - 1);
    out.insert(out.end(), lengths.begin(), lengths.end());
    return out;
  };
  const Expr blocks = reshape(slice_axis(rows, last, 0, count * length), with_last({count, length}));
  Expr firsts = extreme == Extreme::kLargest ? max(blocks, -1) : min(blocks, -1);
  if (extreme == Extreme::kSmallest && is_float(rows.dtype())) {  // NaN comes last
    const Expr numbers = where(isnan(blocks), std::numeric_limits<double>::infinity(), blocks);
    firsts = where(all(isnan(blocks), -1), std::numeric_limits<double>::quiet_NaN(), min(numbers, -1));
  }
  const Expr chosen = expand_dims(sort(argtopk(firsts, k, -1, extreme)), {last + 1});
  std::vector<Operand> among = {reshape(chosen * length + arange(length), with_last({k * length}))};
  if (count * length < n) among.emplace_back(broadcast_to(arange(count * length, n), with_last({n - count * length})));
  const Expr positions = join(last, among);
  const Expr first = apply(argsort_op(), {take_along_axis(rows, positions, last)}, props);
  return take_along_axis(positions, first, last);
}

Expr argtopk(const Operand& x, const Length& k, int64_t axis, Extreme extreme) {
  require_elements(x, k.dim(), axis, "argtopk");
  Props props{{"count", Dims{k.dim()}}};
  if (extreme == Extreme::kLargest) props.set("descending", true);
  return along_last_axis(x, axis, "argtopk", [&](const Expr& rows) {
    const int64_t length = block_length(rows.type(), k.dim());
    return length > 0 ? first_of_blocks(rows, length, k.dim(), extreme, props)
                      : apply(argsort_op(), {rows}, props, x.where());
  });
}

Expr topk(const Operand& x, const Length& k, int64_t axis, Extreme extreme) {
  require_elements(x, k.dim(), axis, "topk");
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
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
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
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
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
