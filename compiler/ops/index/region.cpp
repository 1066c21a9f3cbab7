#include "compiler/ops/index/region.h"

#include <algorithm>

#include "compiler/ops/index/checked_index.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

Region Region::of(const Props& props) {
  return {.starts = props.get<Dims>("starts"),
          .counts = props.get<Dims>("counts"),
          .steps = props.get<Ints>("steps"),
          .dropped = props.get_or<Ints>("dropped", {}),
          .given = props.get_or<Ints>("given", {}),
          .inside = props.get_or<Ints>("inside", {}),
          .to_end = props.get_or<Ints>("to_end", {})};
}

Region Region::of(const Node& node) {
  return of(node.props);
}

void Region::add_to(Props& props) const {
  props.set("starts", starts);
  props.set("counts", counts);
  props.set("steps", steps);
  if (!dropped.empty()) props.set("dropped", dropped);
  if (!given.empty()) props.set("given", given);
  if (!inside.empty()) props.set("inside", inside);
  if (!to_end.empty()) props.set("to_end", to_end);
}

bool Region::has(const Ints& axes, size_t axis) const {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

std::vector<size_t> Region::kept() const {
  std::vector<size_t> out;
  for (size_t axis = 0; axis < counts.size(); ++axis)
    if (!has(dropped, axis)) out.push_back(axis);
  return out;
}

Dims Region::dims() const {
  Dims out;
  for (size_t axis : kept()) out.push_back(counts[axis]);
  return out;
}

namespace {

// The check of a start that an input gives.
IndexCheck given_check(const Node& node, const Region& region, size_t axis) {
  if (region.has(region.dropped, axis))
    return {.what = str(node.op->name, ": the index {value} is outside axis ", axis),
            .expected = "-{limit} <= index < {limit}",
            .from_end = true};
  return {.what = str(node.op->name, ": the part from {value} on, of length ", readable(region.counts[axis].text()),
                      ", is outside axis ", axis),
          .expected = "0 <= start < {limit}"};
}

void check_axis(const TypeArgs& args, const Type& x, const Region& region, size_t axis) {
  const Dim &start = region.starts[axis], &count = region.counts[axis], &length = x.dims[axis];
  require_length(args, count);
  Dim end = start + count;
  bool is_index = region.has(region.dropped, axis);
  std::string what =
      is_index ? str("the index ", readable(start.text()), " is outside axis ", axis)
               : str("the part ", readable(start.text()), ":", readable(end.text()), " is outside axis ", axis);
  if (region.has(region.given, axis)) {
    require_at_most(args, count, length, str("axis ", axis, " is shorter than the part"));
  } else if (region.has(region.inside, axis)) {
    bool outside = (start.is_known() && start.value() < 0) ||
                   (end.is_known() && length.is_known() && end.value() > length.value());
    if (outside)
      args.fail(what, is_index ? str("0 <= index < ", readable(length.text()))
                               : str("a part of 0:", readable(length.text())));
    require_at_most(args, 0, start, what);
    require_at_most(args, end, length, what);
  }
  if (region.has(region.to_end, axis))
    args.require_equal(end, length, str("the parts of axis ", axis, " do not fill it"));
}

}  // namespace

Dims region_dims(const TypeArgs& args, const Type& x, const Region& region, size_t first_given) {
  args.require(region.starts.size() == x.rank() && region.counts.size() == x.rank() && region.steps.size() == x.rank(),
               "a start, a count and a step for each axis are missing");
  args.require(args.inputs.size() == first_given + region.given.size(), "the wrong number of starts is given");
  for (size_t i = first_given; i < args.inputs.size(); ++i)
    args.require(args.type(i).is_scalar() && is_int(args.type(i).dtype), "a start is no integer scalar");
  for (size_t axis = 0; axis < x.rank(); ++axis) check_axis(args, x, region, axis);
  return region.dims();
}

Layout region_layout(const Region& region, const Layout& x) {
  Layout out{.strides = {}, .offset = x.offset};
  for (size_t axis = 0; axis < x.strides.size(); ++axis)
    out.offset = out.offset + region.starts[axis] * x.strides[axis];
  for (size_t axis : region.kept()) out.strides.push_back(x.strides[axis] * region.steps[axis]);
  return out;
}

Tensor region_view(const ReferenceArgs& args, const Region& region, const Tensor& x, size_t first_given) {
  auto value_of = [&](const Dim& dim) { return dim.is_known() ? dim.value() : dim.evaluate(args.length_of); };
  int64_t offset = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    int64_t start = value_of(region.starts[axis]), count = value_of(region.counts[axis]), length = x.dim(axis);
    auto given = std::find(region.given.begin(), region.given.end(), static_cast<int64_t>(axis));
    if (given != region.given.end()) {
      const Tensor& number = args.inputs[first_given + static_cast<size_t>(given - region.given.begin())];
      start = checked_position(args.node, given_check(args.node, region, axis), number.dtype(), number.as_int(),
                               length - count + 1);
    } else if (region.has(region.inside, axis) && (start < 0 || start + count > length)) {
      throw UserError(
          {.what = str(args.node.op->name, ": the part ", start, ":", start + count, " is outside axis ", axis),
           .expected = str("a part of 0:", length),
           .node = args.node.origin.text(),
           .config = args.node.origin.config()});
    }
    offset += start * x.strides()[axis];
  }
  Shape shape, strides;
  for (size_t axis : region.kept()) {
    shape.push_back(value_of(region.counts[axis]));
    strides.push_back(x.strides()[axis] * region.steps[axis]);
  }
  return x.view(shape, strides, offset);
}

Window region_window(StepBuilder& b, const Region& region, const kernel::Operand& whole, size_t first_given) {
  Window out{.part = whole, .first = 0};
  out.part.type.dims = region.dims();
  out.part.layout = region_layout(region, whole.layout);
  std::vector<Term> starts;
  for (const Dim& start : region.starts) starts.push_back(b.length(start));
  for (size_t i = 0; i < region.given.size(); ++i) {
    size_t axis = static_cast<size_t>(region.given[i]);
    Term number = b.load(b.input(first_given + i), 0);
    Term positions = b.length(whole.type.dims[axis] - region.counts[axis] + 1);
    starts[axis] = checked_position(b, given_check(b.node(), region, axis), number, positions);
  }
  Term first = b.index_of(whole, starts);
  out.first = b.code().let("first", is_complex(whole.type.dtype) ? first * Term(2) : first);
  out.part = parts_of(out.part);
  return out;
}

}  // namespace thtrain
