#include "compiler/ops/index/box.h"

#include <algorithm>

#include "compiler/ops/elemwise/checked_index.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

Box Box::of(const Props& props) {
  return {.starts = props.get<Dims>("starts"),
          .counts = props.get<Dims>("counts"),
          .steps = props.get<Ints>("steps"),
          .dropped = props.get_or<Ints>("dropped", {}),
          .given = props.get_or<Ints>("given", {}),
          .inside = props.get_or<Ints>("inside", {}),
          .to_end = props.get_or<Ints>("to_end", {})};
}

Box Box::of(const Node& node) {
  return of(node.props);
}

void Box::add_to(Props& props) const {
  props.set("starts", starts);
  props.set("counts", counts);
  props.set("steps", steps);
  if (!dropped.empty()) props.set("dropped", dropped);
  if (!given.empty()) props.set("given", given);
  if (!inside.empty()) props.set("inside", inside);
  if (!to_end.empty()) props.set("to_end", to_end);
}

bool Box::has(const Ints& axes, size_t axis) const {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

std::vector<size_t> Box::kept() const {
  std::vector<size_t> out;
  for (size_t axis = 0; axis < counts.size(); ++axis)
    if (!has(dropped, axis)) out.push_back(axis);
  return out;
}

Dims Box::dims() const {
  Dims out;
  for (size_t axis : kept()) out.push_back(counts[axis]);
  return out;
}

namespace {

// The check of a start that an input gives.
IndexCheck given_check(const Node& node, const Box& box, size_t axis) {
  if (box.has(box.dropped, axis))
    return {.what = str(node.op->name, ": the index {value} is outside axis ", axis),
            .expected = "-{limit} <= index < {limit}",
            .from_end = true};
  return {.what = str(node.op->name, ": the part of length ", readable(box.counts[axis].text()),
                      " that starts at {value} is outside axis ", axis),
          .expected = "0 <= start < {limit}"};
}

void check_axis(const TypeArgs& args, const Type& x, const Box& box, size_t axis) {
  const Dim &start = box.starts[axis], &count = box.counts[axis], &length = x.dims[axis];
  require_length(args, count);
  Dim end = start + count;
  bool is_index = box.has(box.dropped, axis);
  std::string what =
      is_index ? str("the index ", readable(start.text()), " is outside axis ", axis)
               : str("the part ", readable(start.text()), ":", readable(end.text()), " is outside axis ", axis);
  if (box.has(box.given, axis)) {
    require_at_most(args, count, length, str("axis ", axis, " is shorter than the part"));
  } else if (box.has(box.inside, axis)) {
    bool outside = (start.is_known() && start.value() < 0) ||
                   (end.is_known() && length.is_known() && end.value() > length.value());
    if (outside)
      args.fail(what, is_index ? str("0 <= index < ", readable(length.text()))
                               : str("a part of 0:", readable(length.text())));
    require_at_most(args, 0, start, what);
    require_at_most(args, end, length, what);
  }
  if (box.has(box.to_end, axis))
    args.require_equal(end, length, str("the parts of axis ", axis, " do not add up to its length"));
}

}  // namespace

Dims box_dims(const TypeArgs& args, const Type& x, const Box& box, size_t first_given) {
  args.require(box.starts.size() == x.rank() && box.counts.size() == x.rank() && box.steps.size() == x.rank(),
               "a start, a count and a step for each axis are missing");
  args.require(args.inputs.size() == first_given + box.given.size(), "the wrong number of starts is given");
  for (size_t i = first_given; i < args.inputs.size(); ++i)
    args.require(args.type(i).is_scalar() && is_int(args.type(i).dtype), "a start is not an integer scalar");
  for (size_t axis = 0; axis < x.rank(); ++axis) check_axis(args, x, box, axis);
  return box.dims();
}

Layout box_layout(const Box& box, const Layout& x) {
  Layout out{.strides = {}, .offset = x.offset};
  for (size_t axis = 0; axis < x.strides.size(); ++axis) out.offset = out.offset + box.starts[axis] * x.strides[axis];
  for (size_t axis : box.kept()) out.strides.push_back(x.strides[axis] * box.steps[axis]);
  return out;
}

Tensor box_view(const ReferenceArgs& args, const Box& box, const Tensor& x, size_t first_given) {
  auto value_of = [&](const Dim& dim) { return dim.is_known() ? dim.value() : dim.evaluate(args.length_of); };
  int64_t offset = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    int64_t start = value_of(box.starts[axis]), count = value_of(box.counts[axis]), length = x.dim(axis);
    auto given = std::find(box.given.begin(), box.given.end(), static_cast<int64_t>(axis));
    if (given != box.given.end()) {
      const Tensor& number = args.inputs[first_given + static_cast<size_t>(given - box.given.begin())];
      start = checked_position(args.node, given_check(args.node, box, axis), number.dtype(), number.as_int(),
                               length - count + 1);
    } else if (box.has(box.inside, axis) && (start < 0 || start + count > length)) {
      throw UserError(
          {.what = str(args.node.op->name, ": the part ", start, ":", start + count, " is outside axis ", axis),
           .expected = str("a part of 0:", length),
           .node = args.node.origin.text(),
           .config = args.node.origin.config()});
    }
    int64_t last = start + (count - 1) * box.steps[axis];
    TH_CHECK(count <= 0 || (std::min(start, last) >= 0 && std::max(start, last) < length), args.node.op->name,
             ": positions ", start, " to ", last, " of axis ", axis, " with ", length);
    offset += start * x.strides()[axis];
  }
  Shape shape, strides;
  for (size_t axis : box.kept()) {
    shape.push_back(value_of(box.counts[axis]));
    strides.push_back(x.strides()[axis] * box.steps[axis]);
  }
  return x.view(shape, strides, offset);
}

BoxWindow box_window(StepBuilder& b, const Node& node, const Box& box, const kernel::Operand& whole,
                     size_t first_given) {
  BoxWindow out{.part = whole, .first = 0};
  out.part.type.dims = box.dims();
  out.part.layout = box_layout(box, whole.layout);
  std::vector<Term> starts;
  for (const Dim& start : box.starts) starts.push_back(b.length(start));
  for (size_t i = 0; i < box.given.size(); ++i) {
    size_t axis = static_cast<size_t>(box.given[i]);
    Term number = b.load(b.input(first_given + i), 0);
    Term positions = b.length(whole.type.dims[axis] - box.counts[axis] + 1);
    starts[axis] = checked_position(b, node, given_check(node, box, axis), number, positions);
  }
  Term first = b.index_of(whole, starts);
  out.first = b.code().let("first", is_complex(whole.type.dtype) ? first * Term(2) : first);
  out.part = parts_of(out.part);
  return out;
}

}  // namespace thtrain
