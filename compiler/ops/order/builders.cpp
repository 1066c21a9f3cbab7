// Builders over sort and argsort: the greatest elements, different elements; and differences.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "compiler/ops/control/scan.h"
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

static Props props_of_first(const Length& k, Extreme extreme) {
  Props out{{"count", Dims{k.dim()}}};
  if (extreme == Extreme::kLargest) out.set("descending", true);
  return out;
}

Expr argtopk(const Operand& x, const Length& k, int64_t axis, Extreme extreme) {
  require_elements(x, k.dim(), axis, "argtopk");
  const Props props = props_of_first(k, extreme);
  return along_last_axis(x, axis, "argtopk", [&](const Expr& rows) {
    const int64_t length = block_length(rows.type(), k.dim());
    return length > 0 ? first_of_blocks(rows, length, k.dim(), extreme, props)
                      : apply(argsort_op(), {rows}, props, x.where());
  });
}

Expr topk(const Operand& x, const Length& k, int64_t axis, Extreme extreme) {
  require_elements(x, k.dim(), axis, "topk");
  return along_last_axis(x, axis, "topk", [&](const Expr& rows) {
    return block_length(rows.type(), k.dim()) > 0 ? take_along_axis(rows, argtopk(rows, k, -1, extreme), -1)
                                                  : apply(sort_op(), {rows}, props_of_first(k, extreme), x.where());
  });
}

// Where elements, or rows, of a sorted value differ from those before.
static Expr differs_from_before(const Expr& sorted) {
  return neq(subtensor(sorted, {Slice{.start = 1}}), subtensor(sorted, {Slice{.stop = -1}}));
}

// The order of rows [n, m] by their first elements, then by their second ones and so on: columns are sorted from the
// last one on, and equal elements keep the order of before.
static Expr order_of_rows(const Expr& rows) {
  const auto next = [](const Expr& column, const Expr& order) { return take(order, argsort(take(column, order))); };
  return foldr(next, {.sequences = {transpose(rows)}, .outputs_info = {arange(length(rows, 0))}}).outputs;
}

// What unique() finds, where sorted values in that order differ from those before; `values` are those at positions in
// the order.
static Unique unique_of(const Expr& order, const Expr& differs, const std::function<Expr(const Expr& firsts)>& values) {
  const Dim& n = order.dims()[0];
  const Expr is_first = join(0, {ones({min(n, Dim(1))}, DType::kBool), differs}), firsts = flatnonzero(is_first);
  return {.values = values(firsts),
          .index = take(order, firsts),
          .inverse = scatter_add(zeros({n}, DType::kInt64), order, cumsum(is_first, 0) - 1),
          .counts = diff(join(0, {firsts, expand_dims(length(order, 0), {0})}))};
}

static Unique unique_along(const Expr& x, size_t axis) {
  Ints forth(x.rank()), back(x.rank());
  std::iota(forth.begin(), forth.end(), 0);
  std::rotate(forth.begin(), forth.begin() + static_cast<std::ptrdiff_t>(axis),
              forth.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  for (size_t i = 0; i < forth.size(); ++i) back[static_cast<size_t>(forth[i])] = static_cast<int64_t>(i);
  const Expr first = transpose(x, forth);
  const Dims& dims = first.dims();
  const Expr rows = reshape(first, {dims[0], product(Dims(dims.begin() + 1, dims.end()))}), order = order_of_rows(rows);
  return unique_of(order, any(differs_from_before(take(rows, order, 0)), 1),
                   [&](const Expr& firsts) { return transpose(take(first, take(order, firsts), 0), back); });
}

Unique unique(const Operand& operand, std::optional<int64_t> axis) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  const size_t along = axis ? axis_of(*axis, x, "unique", operand.where()) : 0;
  if (axis && x.rank() > 1) return unique_along(x, along);
  const Expr flat = flatten(x), order = argsort(flat, 0), sorted = sort(flat, 0);
  Expr differs = differs_from_before(sorted);
  if (is_float(x.dtype()) || is_complex(x.dtype()))  // NaN equals NaN here
    differs = logical_and(differs, logical_not(isnan(subtensor(sorted, {Slice{.stop = -1}}))));
  Unique out = unique_of(order, differs, [&](const Expr& firsts) { return take(sorted, firsts); });
  out.inverse = reshape(out.inverse, x.dims());
  return out;
}

Expr diff(const Operand& operand, int64_t n, int64_t axis) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  Expr x = operand.expr();
  const size_t along = axis_of(axis, x, "diff", operand.where());
  if (n < 0) fail_build(operand.where(), "diff: a negative number of differences", "n >= 0", std::to_string(n));
  // Of a known length nothing is left after as many; each is a part of the graph.
  if (x.dims()[along].is_known()) n = std::min(n, x.dims()[along].value());
  constexpr int64_t kMost = 1000;
  if (n > kMost) fail_build(operand.where(), "diff: too many differences", str("at most ", kMost), std::to_string(n));
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
