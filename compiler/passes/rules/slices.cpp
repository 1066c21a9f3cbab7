#include "compiler/passes/rules/slices.h"

#include "compiler/ops/index/index.h"

namespace thtrain {

std::optional<StridedSlice> strided_slice_of(const Expr& value) {
  if (!is_op(value, subtensor_op()) && !is_op(value, inc_subtensor_op())) return std::nullopt;
  StridedSlice slice = StridedSlice::of(value.node());
  if (!slice.given.empty()) return std::nullopt;
  return slice;
}

StridedSlice full_slice(const Expr& x) {
  return {.starts = Dims(x.rank(), Dim(0)), .counts = x.dims(), .steps = Ints(x.rank(), 1)};
}

bool is_whole(const StridedSlice& slice, const Dims& dims) {
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool one_step = slice.steps[axis] == 1 || dims[axis].is(1);
    if (!slice.starts[axis].is(0) || !(slice.counts[axis] == dims[axis]) || !one_step) return false;
  }
  return true;
}

bool are_disjoint(const StridedSlice& a, const StridedSlice& b) {
  for (size_t axis = 0; axis < a.counts.size(); ++axis) {
    if (a.steps[axis] < 1 || b.steps[axis] < 1) continue;
    auto end = [&](const StridedSlice& slice) {
      return slice.starts[axis] + (slice.counts[axis] - 1) * Dim(slice.steps[axis]) + 1;
    };
    if (b.starts[axis].is_at_least(end(a)) || a.starts[axis].is_at_least(end(b))) return true;
  }
  return false;
}

bool are_equal(const StridedSlice& a, const StridedSlice& b) {
  return a.starts == b.starts && a.counts == b.counts && a.steps == b.steps && a.dropped == b.dropped;
}

Expr slice_of(const Expr& x, const StridedSlice& slice) {
  if (is_whole(slice, x.dims()) && slice.dropped.empty()) return x;
  Props props;
  slice.add_to(props);
  return apply(subtensor_op(), {x}, std::move(props));
}

Expr slice_of_operand(const Expr& operand, const StridedSlice& slice, const Dims& dims) {
  const size_t added = dims.size() - operand.rank();
  StridedSlice out = full_slice(operand);
  for (size_t k = 0; k < operand.rank(); ++k) {
    const size_t axis = k + added;
    if (slice.has(slice.dropped, axis)) out.dropped.push_back(static_cast<int64_t>(k));
    if (operand.dims()[k].is(1) && !dims[axis].is(1)) continue;  // its one element stands for all
    out.starts[k] = slice.starts[axis];
    out.counts[k] = slice.counts[axis];
    out.steps[k] = slice.steps[axis];
  }
  return slice_of(operand, out);
}

}  // namespace thtrain
