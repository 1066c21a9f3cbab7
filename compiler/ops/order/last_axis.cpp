#include "compiler/ops/order/last_axis.h"

#include <numeric>

#include "compiler/ops/shape/shape.h"

namespace thtrain {

static Ints order_with_last(size_t rank, size_t axis) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(axis));
  order.push_back(static_cast<int64_t>(axis));
  return order;
}

Expr with_last_axis(const Expr& x, size_t axis) {
  return transpose(x, order_with_last(x.rank(), axis));
}

Expr along_last_axis(const Operand& operand, std::optional<int64_t> axis, std::string_view builder,
                     const std::function<Expr(const Expr& rows)>& of_rows) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = axis ? operand.expr() : flatten(operand);
  const size_t along = axis_of(axis.value_or(0), x, builder, operand.where());
  if (along + 1 == x.rank()) return of_rows(x);
  const Expr out = of_rows(with_last_axis(x, along));
  Ints order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  order.pop_back();
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(along), static_cast<int64_t>(x.rank()) - 1);
  return transpose(out, order);
}

}  // namespace thtrain
