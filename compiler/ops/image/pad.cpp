#include "compiler/ops/image/pad.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::Term;

struct Padding {
  explicit Padding(const Props& props)
      : before(props.get<Ints>("before")),
        after(props.get<Ints>("after")),
        mode(static_cast<PadMode>(props.get<int64_t>("mode"))),
        value(props.get<double>("value")) {}

  bool is_padded(size_t axis) const { return before[axis] > 0 || after[axis] > 0; }

  Ints before, after;  // of every axis
  PadMode mode;
  double value;
};

// The least length that an axis can have in this mode, and why.
std::pair<int64_t, const char*> least_length(PadMode mode, int64_t width) {
  switch (mode) {
    case PadMode::kConstant:
      return {0, ""};
    case PadMode::kEdge:
      return {1, "has no ends to repeat"};
    case PadMode::kReflect:
      return {width + 1, "is too short for its mirror image"};
    case PadMode::kWrap:
      return {width, "is too short to be repeated"};
  }
  return {0, ""};
}

std::vector<Type> infer(const TypeArgs& args) {
  Type out = args.type(0);
  const Padding padding(args.props);
  args.require(padding.before.size() == out.rank() && padding.after.size() == out.rank(),
               "there is no width for each axis", "two lists of as many numbers as the value has axes");
  for (size_t axis = 0; axis < out.rank(); ++axis) {
    const int64_t width = std::max(padding.before[axis], padding.after[axis]);
    args.require(std::min(padding.before[axis], padding.after[axis]) >= 0,
                 str("a width of axis ", axis, " is negative"), "widths of at least 0");
    const auto [least, why] = least_length(padding.mode, width);
    if (padding.is_padded(axis))
      require_at_most(args, least, out.dims[axis], str("axis ", axis, " ", why, ", with a width of ", width));
    out.dims[axis] = out.dims[axis] + (padding.before[axis] + padding.after[axis]);
  }
  return {out};
}

// The position in the value that a position of the result shows, both along one axis; outside of [0, length) where that
// is the constant's.
int64_t source_of(PadMode mode, int64_t position, int64_t length) {
  switch (mode) {
    case PadMode::kConstant:
      return position;
    case PadMode::kEdge:
      return std::clamp<int64_t>(position, 0, length - 1);
    case PadMode::kReflect:
      return position < 0 ? -position : position >= length ? 2 * (length - 1) - position : position;
    case PadMode::kWrap:
      return position < 0 ? position + length : position >= length ? position - length : position;
  }
  return position;
}

std::vector<Tensor> reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  const Padding padding(args.node.props);
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t width = std::max(padding.before[axis], padding.after[axis]);
    const auto [least, why] = least_length(padding.mode, width);
    if (padding.is_padded(axis) && x.dim(axis) < least)
      throw UserError({.what = str("pad: axis ", axis, " ", why, ", with a width of ", width),
                       .expected = str(least, " <= ", x.dim(axis)),
                       .node = args.node.origin.text(),
                       .config = args.node.origin.config()});
  }
  const Tensor around = Tensor(padding.value).cast(x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(out.shape(), [&](const Shape& at) {
      Shape from = at;
      bool inside = true;
      for (size_t axis = 0; axis < at.size(); ++axis) {
        from[axis] = source_of(padding.mode, at[axis] - padding.before[axis], x.dim(axis));
        inside = inside && from[axis] >= 0 && from[axis] < x.dim(axis);
      }
      out.data<T>()[out.offset(at)] = inside ? x.data<T>()[x.offset(from)] : *around.data<T>();
    });
  });
  return {out};
}

// The cotangent of x, where `g` is that of x with one axis padded.
Expr without_padding(const Expr& g, const Padding& padding, size_t axis, const Dim& length) {
  const int64_t a = static_cast<int64_t>(axis), before = padding.before[axis], after = padding.after[axis];
  auto part = [&](const Expr& of, const Dim& start, const Dim& count) { return slice_of_axis(of, a, start, count); };
  auto mirrored = [&](const Expr& x) {
    std::vector<Index> indices(axis, Slice{});
    indices.emplace_back(Slice{.step = -1});
    return subtensor(x, indices);
  };
  const Expr left = part(g, 0, before), right = part(g, length + before, after);
  Expr out = part(g, before, length);
  auto add = [&](int64_t width, const Dim& start, const Expr& elements) {
    if (width == 0) return;
    out = inc_subtensor(part(out, start, elements.dims()[axis]), elements);
  };
  switch (padding.mode) {
    case PadMode::kConstant:
      break;
    case PadMode::kEdge:
      add(before, 0, sum(left, a, true));
      add(after, length - 1, sum(right, a, true));
      break;
    case PadMode::kReflect:
      add(before, 1, mirrored(left));
      add(after, length - 1 - after, mirrored(right));
      break;
    case PadMode::kWrap:
      add(before, length - before, left);
      add(after, 0, right);
      break;
  }
  return out;
}

std::vector<Expr> gradient(const GradientArgs& args) {
  const Padding padding(args.node.props);
  Expr out = args.cotangent();
  for (size_t axis = 0; axis < out.rank(); ++axis)
    if (padding.is_padded(axis)) out = without_padding(out, padding, axis, args.input(0).dims()[axis]);
  return {out};
}

std::vector<Expr> jvp(const JvpArgs& args) {
  Props props = args.node.props;
  props.set("value", 0.0);
  return {apply(pad_op(), {args.tangent()}, std::move(props))};
}

std::vector<Layout> destinations(const Node& node, const Layout& output) {
  const Padding padding(node.props);
  Layout out = output;
  for (size_t axis = 0; axis < output.strides.size(); ++axis)
    out.offset = out.offset + Dim(padding.before[axis]) * output.strides[axis];
  return {out};
}

// ---- the kernel ----------------------------------------------------------------------------------------------------

// The position that source_of() gives, of an axis whose elements the value has from `before` on.
Term source_term(PadMode mode, const Term& i, int64_t before, const Term& length) {
  const Term position = i - Term(before), zero = 0, last = length - Term(1);
  switch (mode) {
    case PadMode::kConstant:
      break;
    case PadMode::kEdge:
      return select(position < zero, zero, select(position > last, last, position));
    case PadMode::kReflect:
      return select(position < zero, zero - position, select(position > last, last + last - position, position));
    case PadMode::kWrap:
      return select(position < zero, position + length, select(position > last, position - length, position));
  }
  return position;
}

void lower(kernel::StepBuilder& b) {
  const Padding padding(b.node().props);
  const kernel::Operand in = bits_of(b.input(0)), out = bits_of(b.output());
  kernel::Nest nest(out.type.dims);
  nest.work = kMoveWork;
  kernel::Location from = kernel::placed(in);
  const bool is_constant = padding.mode == PadMode::kConstant;
  for (size_t axis = 0; axis < padding.before.size(); ++axis) {
    if (!padding.is_padded(axis)) continue;
    const Dim &length = in.type.dims[axis], &stride = in.layout.strides[axis];
    if (is_constant) {
      Dims moves(nest.axes().size(), Dim(0));
      moves[axis] = 1;
      nest.bounds.push_back({std::move(moves), -padding.before[axis], length});
      from.strides[axis] = stride;
      from.first = from.first - b.length(Dim(padding.before[axis]) * stride);
    } else {
      from.strides[axis] = 0;
      from = from.at(
          nest.let("source", source_term(padding.mode, nest.axis(axis), padding.before[axis], b.length(length))),
          stride);
    }
  }
  const char* comment = "out0 = in0 with elements around it";
  if (!is_constant) {
    nest.store(kernel::placed(out), nest.load("x", from));
    return kernel::schedule(b, nest, "pad", comment);
  }
  const DType dtype = out.type.dtype;
  Term value = is_float(dtype) ? kernel::constant(dtype, padding.value)
                               : kernel::constant_int(dtype, static_cast<int64_t>(padding.value));
  const bool is_zero = padding.value == 0 && !std::signbit(padding.value);
  if (out.type.rank() > padding.before.size() && !is_zero)  // parts of complex numbers
    value = nest.let("value", select(nest.axis(padding.before.size()) == Term(0), value, kernel::constant(dtype, 0)));
  if (b.is_at_destination(0))
    nest.store_outside(kernel::placed(out), value);
  else
    nest.store(kernel::placed(out), nest.load_inside("x", from, value));
  kernel::schedule(b, nest, "pad", comment);
}

std::vector<OpCase> cases() {
  auto padded = [](std::vector<PadWidth> widths, PadMode mode, double value = 0) {
    return [=](const std::vector<Expr>& in) { return std::vector{pad(in[0], widths, mode, value)}; };
  };
  auto f64 = [](Dims dims) { return std::vector{Type{.dtype = DType::kFloat64, .dims = std::move(dims)}}; };
  auto f32 = [](Dims dims) { return std::vector{Type{.dtype = DType::kFloat32, .dims = std::move(dims)}}; };
  std::vector<OpCase> out{
      {.name = "value", .inputs = f64({2, 3, 4}), .build = padded({{1, 2}, {2, 1}}, PadMode::kConstant, -1.5)},
      {.name = "nothing", .inputs = f32({3, 4}), .build = padded({{0, 0}}, PadMode::kConstant)},
      {.name = "of_nothing", .inputs = f64({0, 3}), .build = padded({{1, 1}, {0, 2}}, PadMode::kConstant)},
      {.name = "one_around_nothing", .inputs = f64({0}), .build = padded({{1, 0}}, PadMode::kConstant, -3)},
      {.name = "computed",
       .inputs = f32({3, 4}),
       .build =
           [](const std::vector<Expr>& in) {
             return std::vector{pad(-in[0], {{1, 2}}, PadMode::kConstant, 7)};
           }},
      {.name = "computed_with_nothing",
       .inputs = f32({3, 4}),
       .build =
           [](const std::vector<Expr>& in) {
             return std::vector{pad(-in[0], {{0, 0}}, PadMode::kConstant, 7)};
           }},
      {.name = "complex_minus_zero",
       .inputs = {{.dtype = DType::kComplex64, .dims = {2, 3}}},
       .build = padded({{1, 0}}, PadMode::kConstant, -0.0)},
      {.name = "ints",
       .inputs = {{.dtype = DType::kInt8, .dims = {3, 5}}},
       .build = padded({{1, 0}, {2, 2}}, PadMode::kConstant, 7)},
      {.name = "bools",
       .inputs = {{.dtype = DType::kBool, .dims = {3, 5}}},
       .build = padded({{1, 1}, {1, 1}}, PadMode::kConstant, 1)},
      {.name = "complex",
       .inputs = {{.dtype = DType::kComplex64, .dims = {3, 2}}},
       .build = padded({{1, 1}}, PadMode::kEdge)},
      {.name = "channels", .inputs = f64({2, 3, 2, 5}), .build = padded({{2, 2}, {0, 0}, {0, 0}}, PadMode::kConstant)},
      {.name = "of_a_sum",
       .inputs = f64({2, 3, 9}),
       .build =
           [](const std::vector<Expr>& in) {
             return std::vector{pad(sum(in[0], 0, true), {{1, 1}, {1, 1}}, PadMode::kConstant)};
           },
       .bound = 4}};
  const std::vector<std::pair<const char*, PadMode>> modes{{"constant", PadMode::kConstant},
                                                           {"edge", PadMode::kEdge},
                                                           {"reflect", PadMode::kReflect},
                                                           {"wrap", PadMode::kWrap}};
  for (const auto& [name, mode] : modes) {
    out.push_back({.name = str(name, "_vector"), .inputs = f64({5}), .build = padded({{4, 2}}, mode)});
    out.push_back(
        {.name = str(name, "_images"), .inputs = f32({2, 3, 4, 17}), .build = padded({{3, 1}, {2, 3}}, mode)});
    out.push_back(
        {.name = str(name, "_left"), .inputs = f64({3, 4, 2}), .build = padded({{2, 0}, {1, 1}, {0, 1}}, mode)});
  }
  return out;
}

// The value as the dtype of x holds it.
double value_in(DType dtype, double value, const Expr& x, const std::source_location& where) {
  const Tensor held = Tensor(value).cast(dtype);
  const double back = held.cast(DType::kFloat64).as_double();
  if (!is_float(dtype) && !is_complex(dtype) && back != value)
    fail_build(where, str("pad: the dtype does not hold the value ", value), str("a number of ", name_of(dtype)),
               value_text(x));
  return value;
}

Expr padded_in_all_iterations(const Node& node, const Dim&, std::span<const Expr> inputs, const std::vector<bool>&) {
  Props props = node.props;
  for (const char* name : {"before", "after"}) {
    Ints widths = node.props.get<Ints>(name);
    widths.insert(widths.begin(), 0);
    props.set(name, std::move(widths));
  }
  return apply(pad_op(), {inputs[0]}, std::move(props));
}

constexpr IterationsRule kPadOfIterations{.all = padded_in_all_iterations};

}  // namespace

const Op& pad_op() {
  static const Op op{
      .name = "pad",
      .doc =
          "x with before[a] elements before and after[a] elements after each axis a. mode: 0 the number value, 1 the "
          "ends, 2 the mirror image without the ends, 3 the value again.\n"
          "Shapes: y[a] = x[a] + before[a] + after[a].\n"
          "dtypes: any.\n"
          "Gradient: the part of the cotangent that shows x, with what other elements show of x added to it.\n"
          "Edge cases: modes 1 to 3 need elements to show; an error where there are none.\n"
          "Example: [1, 2] with one 0 each side: [0, 1, 2, 0]",
      .infer = infer,
      .reference = reference,
      .error = moved_error,
      .gradient = gradient,
      .jvp = jvp,
      .lower = lower,
      .destinations =
          [](const Node& node, const Layout& output) {
            // The other modes read the value besides writing the result.
            return Padding(node.props).mode == PadMode::kConstant ? destinations(node, output) : std::vector<Layout>{};
          },
      .iterations = &kPadOfIterations,
      .cost =
          [](const Node& node) {
            return Cost{0, node.types[0].elements() * Dim(2 * static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .cases = cases};
  return op;
}

Expr pad(const Operand& operand, const std::vector<PadWidth>& widths, PadMode mode, double value) {
  const Expr x = operand.expr();
  if (widths.size() > x.rank())
    fail_build(operand.where(), str("pad: there are ", widths.size(), " pairs of widths"),
               str("at most ", x.rank(), ", one for each axis"), value_text(x));
  Ints before(x.rank(), 0), after(x.rank(), 0);
  for (size_t i = 0; i < widths.size(); ++i) {
    const size_t axis = x.rank() - widths.size() + i;
    before[axis] = widths[i].first;
    after[axis] = widths[i].second;
  }
  value = mode == PadMode::kConstant ? value_in(x.dtype(), value, x, operand.where()) : 0;
  return apply(pad_op(), {x},
               {{"before", before}, {"after", after}, {"mode", static_cast<int64_t>(mode)}, {"value", value}},
               operand.where());
}

}  // namespace thtrain
