// From indices as users write them to slices.
#include <span>

#include "compiler/ops/index/index.h"
#include "compiler/ops/index/strided_slice.h"

namespace thtrain {

namespace {

Dim at_most(const Dim& number, const Dim& limit) {
  return is_nonnegative(limit - number) ? number : min(number, limit);
}
Dim at_least(const Dim& number, const Dim& limit) {
  return is_nonnegative(number - limit) ? number : max(number, limit);
}

class SliceBuilder {
 public:
  SliceBuilder(const Expr& x, std::source_location where) : x_(x), where_(where) {
    slice_.starts.assign(x.rank(), Dim(0));
    slice_.counts = x.dims();
    slice_.steps.assign(x.rank(), 1);
  }

  void add(size_t axis, const Index& index) {
    if (const Slice* slice = index.slice())
      add_slice(axis, *slice);
    else
      add_number(axis, index.number());
  }

  // Elements [start, start + count), all of which must be there.
  void add_part(size_t axis, const Operand& start, const Dim& count) {
    Expr number = start.expr();
    require_integer(number);
    if (auto value = symbolic_value(number)) return add_part(axis, *value, count);
    give(axis, number);
    slice_.counts[axis] = count;
  }
  void add_part(size_t axis, const Dim& start, const Dim& count) {
    slice_.starts[axis] = start;
    slice_.counts[axis] = count;
    slice_.inside.push_back(static_cast<int64_t>(axis));
  }

  Expr part() {
    Props props;
    slice_.add_to(props);
    std::vector<Expr> inputs{x_};
    inputs.insert(inputs.end(), given_.begin(), given_.end());
    return apply(subtensor_op(), std::move(inputs), std::move(props), where_);
  }

 private:
  void add_number(size_t axis, const Operand& operand) {
    Expr number = operand.expr();
    require_integer(number);
    const Dim& length = x_.dims()[axis];
    slice_.counts[axis] = 1;
    slice_.dropped.push_back(static_cast<int64_t>(axis));
    auto value = symbolic_value(number);
    if (!value) return give(axis, number);
    if (value->is_known() && length.is_known()) {
      int64_t i = value->value(), n = length.value();
      if (i < -n || i >= n)
        fail_build(where_, str("subtensor: the index ", i, " is outside axis ", axis),
                   n == 0 ? std::string("an axis with elements") : str(-n, " <= index < ", n), value_text(x_));
    }
    slice_.starts[axis] = from_end(*value, length);
    slice_.inside.push_back(static_cast<int64_t>(axis));
    if (!slice_.starts[axis].is_known() && !(slice_.starts[axis] == *value)) {
      if (slice_.written.empty()) slice_.written.assign(x_.rank(), Dim(0));
      slice_.written[axis] = *value;
    }
  }

  void add_slice(size_t axis, const Slice& slice) {
    const Dim& length = x_.dims()[axis];
    int64_t step = 1;
    if (slice.step) {
      auto value = end_of(*slice.step, "the step");
      if (!value.is_known() || value.is(0))
        fail_build(where_, "subtensor: the step of a slice is 0 or not known", "a constant, but not 0", value_text(x_));
      step = value.value();
    }
    Dim start, count;
    if (step > 0) {
      start = slice.start ? at_least_zero(from_end(end_of(*slice.start, "the start"), length)) : Dim(0);
      Dim stop = slice.stop ? at_most(from_end(end_of(*slice.stop, "the stop"), length), length) : length;
      count = at_least_zero(floor_div(stop - start + (step - 1), step));
    } else {
      Dim last = length - 1;
      start = slice.start ? at_most(from_end(end_of(*slice.start, "the start"), length), last) : last;
      Dim stop = slice.stop ? at_least(from_end(end_of(*slice.stop, "the stop"), length), -1) : Dim(-1);
      count = at_least_zero(floor_div(start - stop + (-step - 1), -step));
    }
    slice_.starts[axis] = count.is(0) ? Dim(0) : start;
    slice_.counts[axis] = count;
    slice_.steps[axis] = step;
  }

  Dim end_of(const Operand& operand, std::string_view which) {
    Expr number = operand.expr();
    require_integer(number);
    auto value = symbolic_value(number);
    if (!value)
      fail_build(where_, str("subtensor: ", which, " of a slice is not known before the graph runs"),
                 "a number, a length, a scalar input, or sums, differences and products of them", value_text(number),
                 "rows(x, start, count) takes a start that is computed, and a count that is known");
    return *value;
  }

  void require_integer(const Expr& number) {
    if (number.type().is_scalar() && is_int(number.dtype())) return;
    fail_build(where_, "subtensor: an index is not an integer scalar",
               "integers and slices, or integers and integer arrays alone", value_text(number),
               is_int(number.dtype()) ? "take(x, indices, axis) reads the elements that a vector names" : "");
  }

  void give(size_t axis, const Expr& number) {
    slice_.given.push_back(static_cast<int64_t>(axis));
    given_.push_back(number);
  }

  const Expr& x_;
  std::source_location where_;
  StridedSlice slice_;
  std::vector<Expr> given_;
};

}  // namespace

Expr subtensor(const Operand& operand, const std::vector<Index>& indices) {
  Expr x = operand.expr();
  if (indices.size() > x.rank())
    fail_build(operand.where(), str("subtensor: ", indices.size(), " indices are given"), str("at most ", x.rank()),
               value_text(x));
  SliceBuilder maker(x, operand.where());
  for (size_t axis = 0; axis < indices.size(); ++axis) maker.add(axis, indices[axis]);
  return maker.part();
}

// Integers, of which one at least has axes?
static bool name_elements(std::span<const Index> indices) {
  bool any_axes = false;
  for (const Index& index : indices) {
    if (index.slice()) return false;
    if (index.number().is_literal()) continue;
    const Expr number = index.number().expr();
    if (!is_int(number.dtype())) return false;
    any_axes = any_axes || number.rank() > 0;
  }
  return any_axes;
}

// One index may name several elements of the first axis, or one that only the data decides; both are NumPy's x[i].
Expr Expr::operator[](const Index& index) const {
  require_value(*this, "what is indexed", index.where());
  if (!index.slice() && !index.number().is_literal())
    if (const Expr mask = index.number().expr(); is_bool(mask.dtype()) && mask.rank() > 0)
      return masked(Operand(*this, index.where()), Operand(mask, index.where()));
  if (!index.slice() && !index.number().is_literal())
    if (const Expr i = index.number().expr(); is_int(i.dtype()) && i.rank() > 0)
      return take(Operand(*this, index.where()), Operand(i, index.where()));
  return subtensor(Operand(*this, index.where()), {index});
}

Expr Expr::operator[](std::initializer_list<Index> indices) const {
  if (indices.size() == 0) return *this;
  const std::source_location where = indices.begin()->where();
  if (indices.size() <= rank() && name_elements(indices)) {
    std::vector<Operand> numbers;
    for (const Index& index : indices) numbers.push_back(index.number());
    return gather(*this, numbers);
  }
  return subtensor(Operand(require_value(*this, "what is indexed", where), where), indices);
}

Expr slice_axis(const Operand& operand, int64_t axis, const Operand& start, const Length& count) {
  Expr x = operand.expr();
  SliceBuilder maker(x, operand.where());
  maker.add_part(axis_of(axis, x, "slice_axis", operand.where()), start, count.dim());
  return maker.part();
}

Expr slice_of_axis(const Operand& operand, int64_t axis, const Dim& start, const Dim& count) {
  Expr x = operand.expr();
  SliceBuilder maker(x, operand.where());
  maker.add_part(axis_of(axis, x, "slice_of_axis", operand.where()), start, count);
  return maker.part();
}

Expr rows(const Operand& operand, const Operand& start, const Length& count) {
  Expr x = operand.expr();
  if (x.rank() == 0) fail_build(operand.where(), "rows: a scalar has no rows", "a value with an axis", value_text(x));
  return slice_axis(Operand(x, operand.where()), 0, start, count);
}

}  // namespace thtrain
