#include "compiler/passes/rules/parts.h"

#include "compiler/ops/index/index.h"

namespace thtrain {

std::optional<Box> box_of(const Expr& value) {
  if (!is_op(value, subtensor_op()) && !is_op(value, inc_subtensor_op())) return std::nullopt;
  Box box = Box::of(value.node());
  if (!box.given.empty()) return std::nullopt;
  return box;
}

Box whole_box(const Expr& x) {
  return {.starts = Dims(x.rank(), Dim(0)), .counts = x.dims(), .steps = Ints(x.rank(), 1)};
}

bool is_whole(const Box& box, const Dims& dims) {
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool one_step = box.steps[axis] == 1 || dims[axis].is(1);
    if (!box.starts[axis].is(0) || !(box.counts[axis] == dims[axis]) || !one_step) return false;
  }
  return true;
}

bool are_apart(const Box& a, const Box& b) {
  for (size_t axis = 0; axis < a.counts.size(); ++axis) {
    if (a.steps[axis] < 1 || b.steps[axis] < 1) continue;
    auto end = [&](const Box& box) { return box.starts[axis] + (box.counts[axis] - 1) * Dim(box.steps[axis]) + 1; };
    if (b.starts[axis].is_at_least(end(a)) || a.starts[axis].is_at_least(end(b))) return true;
  }
  return false;
}

bool are_equal(const Box& a, const Box& b) {
  return a.starts == b.starts && a.counts == b.counts && a.steps == b.steps && a.dropped == b.dropped;
}

Expr part_of(const Expr& x, const Box& box) {
  if (is_whole(box, x.dims()) && box.dropped.empty()) return x;
  Props props;
  box.add_to(props);
  return apply(subtensor_op(), {x}, std::move(props));
}

Expr part_of_operand(const Expr& operand, const Box& box, const Dims& dims) {
  const size_t added = dims.size() - operand.rank();
  Box out = whole_box(operand);
  for (size_t k = 0; k < operand.rank(); ++k) {
    const size_t axis = k + added;
    if (box.has(box.dropped, axis)) out.dropped.push_back(static_cast<int64_t>(k));
    if (operand.dims()[k].is(1) && !dims[axis].is(1)) continue;  // its one element stands for all
    out.starts[k] = box.starts[axis];
    out.counts[k] = box.counts[axis];
    out.steps[k] = box.steps[axis];
  }
  return part_of(operand, out);
}

}  // namespace thtrain
