// Builders that move, join and repeat axes and elements, over views, slices and gathers.
#include <algorithm>
#include <numeric>

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {

// As many axes as NumPy's arrays have.
static void require_axes_count(int64_t n, std::string_view builder, const Operand& x) {
  if (n < 0 || n > 64)
    fail_build(x.where(), str(builder, ": ", n, " axes are asked for"), "from 0 to 64", value_text(x.expr()));
}

Expr swapaxes(const Operand& operand, int64_t first, int64_t second) {
  const Expr x = operand.expr();
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis_of(first, x, "swapaxes", operand.where())],
            order[axis_of(second, x, "swapaxes", operand.where())]);
  return dimshuffle(operand, order);
}

Expr moveaxis(const Operand& operand, const std::vector<int64_t>& source, const std::vector<int64_t>& destination) {
  const Expr x = operand.expr();
  if (source.size() != destination.size())
    fail_build(operand.where(), str("moveaxis: ", source.size(), " axes and ", destination.size(), " positions"),
               "as many of both", value_text(x));
  std::vector<int64_t> order(x.rank(), -1);
  std::vector<bool> moved(x.rank());
  for (size_t i = 0; i < source.size(); ++i) {
    const size_t from = axis_of(source[i], x, "moveaxis", operand.where()),
                 to = axis_of(destination[i], x, "moveaxis", operand.where());
    if (moved[from] || order[to] >= 0)
      fail_build(operand.where(), "moveaxis: an axis or a position is named twice", "different ones", value_text(x));
    moved[from] = true;
    order[to] = static_cast<int64_t>(from);
  }
  size_t next = 0;
  for (int64_t& from : order) {
    if (from >= 0) continue;
    while (moved[next]) ++next;
    from = static_cast<int64_t>(next++);
  }
  return dimshuffle(operand, order);
}

Expr moveaxis(const Operand& x, int64_t source, int64_t destination) {
  return moveaxis(x, std::vector{source}, std::vector{destination});
}

Expr shape_padleft(const Operand& x, int64_t n) {
  require_axes_count(n, "shape_padleft", x);
  std::vector<int64_t> order(static_cast<size_t>(n), -1);
  for (size_t i = 0; i < x.expr().rank(); ++i) order.push_back(static_cast<int64_t>(i));
  return dimshuffle(x, order);
}

Expr shape_padright(const Operand& x, int64_t n) {
  require_axes_count(n, "shape_padright", x);
  std::vector<int64_t> order(x.expr().rank());
  std::iota(order.begin(), order.end(), 0);
  order.resize(order.size() + static_cast<size_t>(n), -1);
  return dimshuffle(x, order);
}

Expr atleast_nd(const Operand& x, int64_t n) {
  require_axes_count(n, "atleast_nd", x);
  return shape_padleft(x, std::max<int64_t>(n - static_cast<int64_t>(x.expr().rank()), 0));
}

static Expr joined_with_axes(const std::vector<Operand>& values, int64_t rank, int64_t axis_of_more,
                             const std::source_location& where) {
  std::vector<Operand> parts;
  for (const Operand& value : values) parts.push_back({atleast_nd(value, rank), value.where()});
  return concatenate(parts, parts.empty() || parts[0].expr().rank() < 2 ? 0 : axis_of_more, where);
}

Expr hstack(const std::vector<Operand>& values, std::source_location where) {
  return joined_with_axes(values, 1, 1, where);
}

Expr vstack(const std::vector<Operand>& values, std::source_location where) {
  return joined_with_axes(values, 2, 0, where);
}

Expr flip(const Operand& operand, const std::vector<int64_t>& axes) {
  const Expr x = operand.expr();
  std::vector<Index> indices(x.rank(), axes.empty() ? Slice{.step = -1} : all());
  for (int64_t axis : axes) {
    Index& index = indices[axis_of(axis, x, "flip", operand.where())];
    if (index.slice()->step)
      fail_build(operand.where(), str("flip: axis ", axis, " is named twice"), "each axis once", value_text(x));
    index = Slice{.step = -1};
  }
  return subtensor(operand, indices);
}

Expr roll(const Operand& operand, const Operand& shift, std::optional<int64_t> axis) {
  const Expr x = operand.expr(), by = shift.expr();
  if (!is_int(by.dtype()) || by.rank() > 0)
    fail_build(shift.where(), "roll: the shift is no integer", "an integer scalar", value_text(by));
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  if (!axis) return reshape(roll(flatten(operand), shift, 0), x.dims());
  const size_t at = axis_of(*axis, x, "roll", operand.where());
  const Dim& n = x.dims()[at];
  if (n.is(0)) return x;
  const std::optional<Dim> known = symbolic_value(by);
  if (!known) {
    const Expr count = length(x, *axis);
    return take(x, mod(arange(count) - cast(by, DType::kInt64), count), *axis);
  }
  const Dim period = n.is_known() ? n : max(n, 1);
  const Dim last = *known - floor_div(*known, period) * period;  // how many of the last elements come first
  if (last.is(0)) return x;
  return join(*axis, {slice_of_axis(x, *axis, n - last, last), slice_of_axis(x, *axis, 0, n - last)});
}

// x with each element of some axes, or the whole axis, several times: axis i is that of pairs (copy, element), or of
// pairs (element, copy).
static Expr with_copies(const Operand& operand, const Dims& copies, std::string_view builder, bool by_element) {
  const Expr x = operand.expr();
  for (const Dim& n : copies)
    if (n.is_known() && n.value() < 0)
      fail_build(operand.where(), str(builder, ": ", n.value(), " copies are asked for"), "0 or more", value_text(x));
  std::vector<int64_t> order;
  Dims pairs, merged;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool stays = copies[i].is(1);
    if (!stays && !by_element) order.push_back(-1), pairs.push_back(copies[i]);
    order.push_back(static_cast<int64_t>(i)), pairs.push_back(x.dims()[i]);
    if (!stays && by_element) order.push_back(-1), pairs.push_back(copies[i]);
    merged.push_back(stays ? x.dims()[i] : x.dims()[i] * copies[i]);
  }
  if (pairs.size() == x.rank()) return x;
  return reshape(broadcast_to(dimshuffle(operand, order), pairs), merged);
}

Expr tile(const Operand& operand, const LengthList& copies) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = atleast_nd(operand, static_cast<int64_t>(copies.dims.size()));
  Dims all = copies.dims;
  all.insert(all.begin(), x.rank() - all.size(), Dim(1));
  return with_copies(x, all, "tile", false);
}

Expr repeat_elements(const Operand& operand, const Operand& counts, std::optional<int64_t> axis) {
  Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  if (!axis) return repeat_elements(flatten(operand), counts, 0);
  const Expr x = operand.expr(), count = counts.expr();
  const size_t at = axis_of(*axis, x, "repeat_elements", operand.where());
  if (!is_int(count.dtype()) || count.rank() > 1)
    fail_build(counts.where(), "repeat_elements: the count is neither an integer nor a vector of integers",
               "how often each element comes", value_text(count));
  if (count.rank() == 0) {
    Dims copies(x.rank(), Dim(1));
    copies[at] = computed_length(counts);
    return with_copies(x, copies, "repeat_elements", true);
  }
  if (const Dim& n = x.dims()[at], &m = count.dims()[0]; n.is_known() && m.is_known() && n != m)
    fail_build(counts.where(), str("repeat_elements: ", m.text(), " counts for ", n.text(), " elements"),
               "a count for each element", str(value_text(x), ", counts ", value_text(count)));
  const Expr each = check(specify_lengths(cast(count, DType::kInt64), {x.dims()[at]},
                                          "repeat_elements: there is not one count for each element"),
                          all(ge(count, 0)), "repeat_elements: a count is negative");
  // Result i is of the element whose number is that of the elements that end at i or before it.
  const Dim total = computed_length(sum(each));
  const Expr ends = scatter_add(zeros({total + 1}, DType::kInt64), cumsum(each), ones_like(each));
  return take(x, rows(cumsum(ends), 0, total), *axis);
}

}  // namespace thtrain
