#include "compiler/ops/index/strided_slice.h"

#include <algorithm>

#include "compiler/ir/length_condition.h"
#include "compiler/ops/elemwise/checked_index.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

StridedSlice StridedSlice::of(const Props& props) {
  return {.starts = props.get<Dims>("starts"),
          .counts = props.get<Dims>("counts"),
          .steps = props.get<Ints>("steps"),
          .dropped = props.get_or<Ints>("dropped", {}),
          .given = props.get_or<Ints>("given", {}),
          .inside = props.get_or<Ints>("inside", {}),
          .written = props.get_or<Dims>("written", {})};
}

StridedSlice StridedSlice::of(const Node& node) {
  return of(node.props);
}

void StridedSlice::add_to(Props& props) const {
  props.set("starts", starts);
  props.set("counts", counts);
  props.set("steps", steps);
  if (!dropped.empty()) props.set("dropped", dropped);
  if (!given.empty()) props.set("given", given);
  if (!inside.empty()) props.set("inside", inside);
  if (!written.empty()) props.set("written", written);
}

bool StridedSlice::has(const Ints& axes, size_t axis) const {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

std::vector<size_t> StridedSlice::kept() const {
  std::vector<size_t> out;
  for (size_t axis = 0; axis < counts.size(); ++axis)
    if (!has(dropped, axis)) out.push_back(axis);
  return out;
}

Dims StridedSlice::dims() const {
  Dims out;
  for (size_t axis : kept()) out.push_back(counts[axis]);
  return out;
}

Dim from_end(const Dim& number, const Dim& length) {
  if (is_nonnegative(number)) return number;
  if (number.is_known() || is_nonnegative(Dim(-1) - number)) return number + length;
  const Dim is_negative = min(max(Dim(0) - number, 0), 1);
  return number + length * is_negative;
}

namespace {

// The check of a start that an input gives.
IndexCheck given_check(const Node& node, const StridedSlice& slice, size_t axis) {
  if (slice.has(slice.dropped, axis))
    return {.what = str(node.op->name, ": the index {value} is outside axis ", axis),
            .expected = "-{limit} <= index < {limit}",
            .from_end = true};
  return {.what = str(node.op->name, ": the part of length ", readable(slice.counts[axis].text()),
                      " that starts at {value} is outside axis ", axis),
          .expected = "0 <= start < {limit}"};
}

void check_axis(const TypeArgs& args, const Type& x, const StridedSlice& slice, size_t axis) {
  const Dim &start = slice.starts[axis], &count = slice.counts[axis], &length = x.dims[axis];
  require_length(args, count);
  Dim end = start + count;
  bool is_index = slice.has(slice.dropped, axis);
  if (is_index && slice.written.size() == x.rank() && !(slice.written[axis] == start) &&
      from_end(slice.written[axis], length) == start) {
    const Dim& number = slice.written[axis];
    if (number.is_known())
      return require_at_most(args, Dim(0) - number, length,
                             str("the index ", number.value(), " is outside axis ", axis));
    return args.require_equal(max(Dim(0) - length, min(number, length - Dim(1))), number,
                              str("the index ", as_written(number), " is outside axis ", axis));
  }
  std::string what = is_index ? str("the index ", as_written(start), " is outside axis ", axis)
                              : str("the part ", as_written(start), ":", as_written(end), " is outside axis ", axis);
  if (slice.has(slice.given, axis)) {
    require_at_most(args, count, length, str("axis ", axis, " is shorter than the part"));
  } else if (slice.has(slice.inside, axis)) {
    bool outside = (start.is_known() && start.value() < 0) ||
                   (end.is_known() && length.is_known() && end.value() > length.value());
    if (outside)
      args.fail(what, is_index ? str("0 <= index < ", readable(length.text()))
                               : str("a part of 0:", readable(length.text())));
    require_at_most(args, 0, start, what);
    require_at_most(args, end, length, what);
  }
}

}  // namespace

Dims slice_dims(const TypeArgs& args, const Type& x, const StridedSlice& slice, size_t first_given) {
  args.require(slice.starts.size() == x.rank() && slice.counts.size() == x.rank() && slice.steps.size() == x.rank(),
               "a start, a count and a step for each axis are missing");
  args.require(args.inputs.size() == first_given + slice.given.size(), "the wrong number of starts is given");
  for (size_t i = first_given; i < args.inputs.size(); ++i)
    args.require(args.type(i).is_scalar() && is_int(args.type(i).dtype), "a start is not an integer scalar");
  for (size_t axis = 0; axis < x.rank(); ++axis) check_axis(args, x, slice, axis);
  return slice.dims();
}

Layout slice_layout(const StridedSlice& slice, const Layout& x) {
  Layout out{.strides = {}, .offset = x.offset};
  for (size_t axis = 0; axis < x.strides.size(); ++axis) out.offset = out.offset + slice.starts[axis] * x.strides[axis];
  for (size_t axis : slice.kept()) out.strides.push_back(x.strides[axis] * slice.steps[axis]);
  return out;
}

Tensor slice_view(const ReferenceArgs& args, const StridedSlice& slice, const Tensor& x, size_t first_given) {
  auto value_of = [&](const Dim& dim) { return dim.is_known() ? dim.value() : dim.evaluate(args.length_of); };
  int64_t offset = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    int64_t start = value_of(slice.starts[axis]), count = value_of(slice.counts[axis]), length = x.dim(axis);
    auto given = std::find(slice.given.begin(), slice.given.end(), static_cast<int64_t>(axis));
    if (given != slice.given.end()) {
      const Tensor& number = args.inputs[first_given + static_cast<size_t>(given - slice.given.begin())];
      start = checked_position(args.node, given_check(args.node, slice, axis), number.dtype(), number.as_int(),
                               length - count + 1);
    } else if (slice.has(slice.inside, axis) && (start < 0 || start + count > length)) {
      throw UserError(
          {.what = str(args.node.op->name, ": the part ", start, ":", start + count, " is outside axis ", axis),
           .expected = str("a part of 0:", length),
           .node = args.node.origin.text(),
           .config = args.node.origin.config()});
    }
    int64_t last = start + (count - 1) * slice.steps[axis];
    TH_CHECK(count <= 0 || (std::min(start, last) >= 0 && std::max(start, last) < length), args.node.op->name,
             ": positions ", start, " to ", last, " of axis ", axis, " with ", length);
    offset += start * x.strides()[axis];
  }
  Shape shape, strides;
  for (size_t axis : slice.kept()) {
    shape.push_back(value_of(slice.counts[axis]));
    strides.push_back(x.strides()[axis] * slice.steps[axis]);
  }
  return x.view(shape, strides, offset);
}

Expr with_read_starts(const Node& node, std::vector<Expr> inputs, const NamedScalars& scalars) {
  const bool writes = node.op == &inc_subtensor_op();
  if (!writes && node.op != &subtensor_op()) return {};
  StridedSlice slice = StridedSlice::of(node);
  const size_t before = inputs.size();
  for (size_t axis = 0; axis < slice.starts.size(); ++axis) {
    if (!slice.has(slice.inside, axis)) continue;  // it is cut to fit, and its length changes too
    auto at = scalars.find(slice.starts[axis].text());
    if (at == scalars.end() && !slice.written.empty()) at = scalars.find(slice.written[axis].text());
    if (at == scalars.end()) continue;
    slice.starts[axis] = 0;
    if (!slice.written.empty()) slice.written[axis] = 0;
    std::erase(slice.inside, static_cast<int64_t>(axis));
    slice.given.push_back(static_cast<int64_t>(axis));
    inputs.push_back(at->second);
  }
  if (inputs.size() == before) return {};
  Props props;
  slice.add_to(props);
  if (writes) props.set("set", node.props.get<bool>("set"));
  return apply(*node.op, std::move(inputs), std::move(props));
}

Expr with_gathered_element(const Node& node, const std::vector<Expr>& inputs) {
  const bool writes = node.op == &inc_subtensor_op();
  if (!writes && node.op != &subtensor_op()) return {};
  const StridedSlice slice = StridedSlice::of(node);
  const Expr& x = inputs[0];
  if (slice.given.size() != 1 || !slice.counts[static_cast<size_t>(slice.given[0])].is(1)) return {};
  for (size_t axis = 0; axis < x.rank(); ++axis)
    if (!slice.has(slice.given, axis) &&
        !(slice.starts[axis].is(0) && slice.steps[axis] == 1 && slice.counts[axis] == x.dims()[axis]))
      return {};
  const Ints axes = {slice.given[0]};
  if (!writes) return reshape(apply(gather_op(), {x, inputs[1]}, {{"axes", axes}}), node.types[0].dims);
  Dims of_element = x.dims();
  of_element.erase(of_element.begin() + static_cast<std::ptrdiff_t>(axes[0]));
  return apply(scatter_op(), {x, reshape(inputs[1], of_element), inputs[2]},
               {{"axes", axes}, {"set", node.props.get<bool>("set")}});
}

SliceWindow slice_window(StepBuilder& b, const Node& node, const StridedSlice& slice, const kernel::Operand& whole,
                         size_t first_given) {
  SliceWindow out{.part = whole, .first = 0};
  out.part.type.dims = slice.dims();
  out.part.layout = slice_layout(slice, whole.layout);
  std::vector<Term> starts;
  for (const Dim& start : slice.starts) starts.push_back(b.length(start));
  for (size_t i = 0; i < slice.given.size(); ++i) {
    size_t axis = static_cast<size_t>(slice.given[i]);
    Term number = b.load(b.input(first_given + i), 0);
    Term positions = b.length(whole.type.dims[axis] - slice.counts[axis] + 1);
    starts[axis] = checked_position(b, node, given_check(node, slice, axis), number, positions);
  }
  Term first = b.index_of(whole, starts);
  out.first = b.code().let("first", is_complex(whole.type.dtype) ? first * Term(2) : first);
  out.part = parts_of(out.part);
  return out;
}

// Behind the values come the starts that inputs give.
static size_t values_of(const Node& node) {
  return node.inputs.size() - StridedSlice::of(node).given.size();
}

static Expr slice_in_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                    const std::vector<bool>& varies) {
  StridedSlice slice = StridedSlice::of(node);
  slice.starts.insert(slice.starts.begin(), 0);
  slice.counts.insert(slice.counts.begin(), iterations);
  slice.steps.insert(slice.steps.begin(), 1);
  if (!slice.written.empty()) slice.written.insert(slice.written.begin(), 0);
  for (Ints* axes : {&slice.dropped, &slice.given, &slice.inside})
    for (int64_t& axis : *axes) ++axis;
  Props props = node.props;
  slice.add_to(props);
  std::vector<Expr> all = with_iterations(node, iterations, inputs, varies);
  std::copy(inputs.begin() + static_cast<std::ptrdiff_t>(values_of(node)), inputs.end(),
            all.begin() + static_cast<std::ptrdiff_t>(values_of(node)));
  return apply(*node.op, std::move(all), std::move(props));
}

const IterationsRule kSliceOfIterations{
    .applies =
        [](const Node& node, const std::vector<bool>& varies) {
          return std::find(varies.begin() + static_cast<std::ptrdiff_t>(values_of(node)), varies.end(), true) ==
                 varies.end();
        },
    .all = slice_in_all_iterations,
    .may_fail = true};

}  // namespace thtrain
