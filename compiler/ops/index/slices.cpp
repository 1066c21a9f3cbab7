// From integers and slices as users write them to rectangular parts.
#include "compiler/ops/index/slices.h"

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/strided_slice.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Dim at_most(const Dim& number, const Dim& limit) {
  return is_nonnegative(limit - number) ? number : min(number, limit);
}
Dim at_least(const Dim& number, const Dim& limit) {
  return is_nonnegative(number - limit) ? number : max(number, limit);
}

// The number, with the length added where it counts from the end.
Expr from_start(const Expr& number, const Expr& length) {
  return where(lt(number, 0), number + length, number);
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
      step = end_of(*slice.step).value();
      if (step == 0)
        fail_build(where_, "subtensor: the step of a slice is 0", "a number that is not 0", value_text(x_));
    }
    const bool is_stop_known = !slice.stop || symbolic_value(slice.stop->expr());
    Dim start, count;
    if (step > 0) {
      start = slice.start ? at_least_zero(from_end(end_of(*slice.start), length)) : Dim(0);
      Dim stop = slice.stop && is_stop_known ? at_most(from_end(end_of(*slice.stop), length), length) : length;
      count = at_least_zero(floor_div(stop - start + (step - 1), step));
    } else {
      Dim last = length - 1;
      start = slice.start ? at_most(from_end(end_of(*slice.start), length), last) : last;
      Dim stop = slice.stop && is_stop_known ? at_least(from_end(end_of(*slice.stop), length), -1) : Dim(-1);
      count = at_least_zero(floor_div(start - stop + (-step - 1), -step));
    }
    if (!is_stop_known) count = ComputedSlice(x_, axis, slice, where_).count();
    slice_.starts[axis] = count.is(0) ? Dim(0) : start;
    slice_.counts[axis] = count;
    slice_.steps[axis] = step;
  }

  static Dim end_of(const Operand& number) { return *symbolic_value(number.expr()); }

  void require_integer(const Expr& number) {
    if (number.type().is_scalar() && is_int(number.dtype())) return;
    fail_build(where_, "subtensor: a start is no integer scalar", "an integer without axes", value_text(number));
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

bool needs_positions(const Slice& slice) {
  const auto is_known = [](const std::optional<Operand>& end) { return !end || symbolic_value(end->expr()); };
  return !is_known(slice.start) ||
         (slice.step && !(is_known(slice.step) && symbolic_value(slice.step->expr())->is_known()));
}

ComputedSlice::ComputedSlice(const Expr& x, size_t axis, const Slice& slice, std::source_location where)
    : where_(where), bound_(x.dims()[axis]) {
  Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const Expr length = apply(length_op(), {}, {{"dim", Dims{bound_}}}), zero = make_constant(Tensor(int64_t{0}));
  key_ = bound_.text();
  const auto given = [&](const std::optional<Operand>& number) {
    if (!number) {
      key_ += ":";
      return Expr();
    }
    const Expr value = number->expr();
    const std::optional<Dim> known = symbolic_value(value);
    key_ += str(":", known ? known->text() : str("~", value.node().serial, ".", value.output()));
    if (!(known && known->is_known()) && (!named_after_.has_value() || !known)) named_after_ = value;
    return cast(value, DType::kInt64);
  };
  const Expr start = given(slice.start), stop = given(slice.stop), step = given(slice.step);
  // The ends lie between 0 and the length, or for steps backwards between -1 and the last element.
  const Expr backwards = step.has_value() ? cast(lt(step, zero), DType::kInt64) : zero;
  const Expr low = -backwards, high = length - backwards;
  const auto moved = [&](const Expr& end) { return clip(from_start(end, length), low, high); };
  step_ = step.has_value() ? check(step, neq(step, zero), "subtensor: the step of a slice is 0")
                           : make_constant(Tensor(int64_t{1}));
  start_ = start.has_value() ? moved(start) : backwards * high;
  const Expr last = stop.has_value() ? moved(stop) : backwards * low + (1 - backwards) * high;
  count_ = maximum(floor_div(last - start_ + step_ - 1 + 2 * backwards, step_), zero);
}

Dim ComputedSlice::count() const {
  return defined_length(define_length(count_, named_after_, bound_, where_, key_));
}

Expr ComputedSlice::positions() const {
  Origin origin = Origin::here(where_);
  InheritOrigin inherit(origin);
  return start_ + arange(apply(length_op(), {}, {{"dim", Dims{count()}}})) * step_;
}

Expr rectangular_part(const Expr& x, const std::vector<Index>& indices, std::source_location where) {
  SliceBuilder maker(x, where);
  for (size_t axis = 0; axis < indices.size(); ++axis) maker.add(axis, indices[axis]);
  return maker.part();
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
