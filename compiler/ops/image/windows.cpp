#include "compiler/ops/image/windows.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {
namespace {

using kernel::Term;

struct WindowAxes {
  explicit WindowAxes(const Props& props)
      : axes(props.get<Ints>("axes")), sizes(props.get<Ints>("sizes")), steps(props.get<Ints>("steps")) {}

  Dims counted(const Dims& x) const {
    Dims out = x;
    for (size_t k = 0; k < axes.size(); ++k) {
      Dim& length = out[static_cast<size_t>(axes[k])];
      length = floor_div(length - Dim(sizes[k]), Dim(steps[k])) + 1;
    }
    for (int64_t size : sizes) out.emplace_back(size);
    return out;
  }

  // The element of x that an element of the windows is.
  Shape source_of(const Shape& at) const {
    Shape out(at.begin(), at.end() - static_cast<std::ptrdiff_t>(axes.size()));
    for (size_t k = 0; k < axes.size(); ++k) {
      int64_t& position = out[static_cast<size_t>(axes[k])];
      position = position * steps[k] + at[out.size() + k];
    }
    return out;
  }

  Ints axes, sizes, steps;
};

void check_axes(const TypeArgs& args, const WindowAxes& w, const Dims& x) {
  args.require(w.sizes.size() == w.axes.size() && w.steps.size() == w.axes.size(),
               str("there are ", w.axes.size(), " axes, ", w.sizes.size(), " sizes and ", w.steps.size(), " steps"),
               "a size and a step for each axis");
  for (size_t k = 0; k < w.axes.size(); ++k) {
    const int64_t axis = w.axes[k];
    args.require(axis >= 0 && axis < static_cast<int64_t>(x.size()), str("there is no axis ", axis),
                 str("axes from 0 to ", x.size(), " (without)"));
    args.require(std::count(w.axes.begin(), w.axes.end(), axis) == 1, str("axis ", axis, " is named twice"),
                 "each axis once");
    args.require(w.sizes[k] >= 1 && w.steps[k] >= 1,
                 str("along axis ", axis, " a window of ", w.sizes[k], " elements moves by ", w.steps[k]),
                 "a size and a step of at least 1");
    require_at_most(args, w.sizes[k], x[static_cast<size_t>(axis)],
                    str("axis ", axis, " is shorter than a window of ", w.sizes[k], " elements"));
  }
}

// ---- windows -------------------------------------------------------------------------------------------------------

std::vector<Type> infer_windows(const TypeArgs& args) {
  const Type& x = args.type(0);
  const WindowAxes w(args.props);
  check_axes(args, w, x.dims);
  return {{.dtype = x.dtype, .dims = w.counted(x.dims)}};
}

std::vector<Tensor> windows_reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const WindowAxes w(args.node.props);
  for (size_t k = 0; k < w.axes.size(); ++k)
    if (const int64_t length = x.dim(static_cast<size_t>(w.axes[k])); length < w.sizes[k])
      throw UserError(
          {.what = str("windows: axis ", w.axes[k], " is shorter than a window of ", w.sizes[k], " elements"),
           .expected = str(w.sizes[k], " <= ", length),
           .node = args.node.origin.text(),
           .config = args.node.origin.config()});
  Tensor out = args.make_output();
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(out.shape(),
                   [&](const Shape& at) { out.data<T>()[out.offset(at)] = x.data<T>()[x.offset(w.source_of(at))]; });
  });
  return {out};
}

std::optional<Layout> windows_view(const LayoutArgs& args) {
  const WindowAxes w(args.node.props);
  Layout out = args.input;
  for (size_t k = 0; k < w.axes.size(); ++k) {
    const size_t axis = static_cast<size_t>(w.axes[k]);
    out.strides.push_back(args.input.strides[axis]);
    out.strides[axis] = args.input.strides[axis] * Dim(w.steps[k]);
  }
  return out;
}

// ---- add_windows ---------------------------------------------------------------------------------------------------

std::vector<Type> infer_added(const TypeArgs& args) {
  const Type& w = args.type(0);
  const Type out{.dtype = w.dtype, .dims = args.props.get<Dims>("dims")};
  const WindowAxes axes(args.props);
  args.require(!is_bool(w.dtype), "bools cannot be added", "numbers");
  check_axes(args, axes, out.dims);
  const Dims expected = axes.counted(out.dims);
  args.require(w.rank() == expected.size(), "the windows have another number of axes", str(expected.size(), " axes"));
  for (size_t i = 0; i < expected.size(); ++i)
    args.require_equal(w.dims[i], expected[i], str("the windows have another length of axis ", i));
  return {out};
}

std::vector<Tensor> added_reference(const ReferenceArgs& args) {
  const Tensor& w = args.inputs[0];
  const WindowAxes axes(args.node.props);
  Tensor out = args.make_output();
  // Floats are added in float64.
  const bool wide = out.dtype() == DType::kFloat32;
  Tensor sums = wide ? out.cast(DType::kFloat64) : out;
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(w.shape(), [&](const Shape& at) {
      const int64_t position = sums.offset(axes.source_of(at));
      const T x = w.data<T>()[w.offset(at)];
      if constexpr (std::is_same_v<T, float>)
        sums.data<double>()[position] += static_cast<double>(x);
      else
        sums.data<T>()[position] = wrapping_add(sums.data<T>()[position], x);
    });
  });
  return {wide ? sums.cast(DType::kFloat32) : sums};
}

// Parts do not share elements of x: each is written once.
bool is_disjoint(const WindowAxes& w) {
  for (size_t k = 0; k < w.axes.size(); ++k)
    if (w.steps[k] < w.sizes[k]) return false;
  return true;
}

bool covers_all(const WindowAxes& w, const Dims& x) {
  const Dims counted = w.counted(x);
  for (size_t k = 0; k < w.axes.size(); ++k) {
    const size_t axis = static_cast<size_t>(w.axes[k]);
    if (w.steps[k] > w.sizes[k] || !(counted[axis] * Dim(w.steps[k]) == x[axis] + (w.steps[k] - w.sizes[k])))
      return false;
  }
  return true;
}

// Of what is added, from the outermost loop on: the axes before the first that windows move along, whose elements no
// two threads share; the windows' numbers but the last, and the positions in the windows; the last windows' numbers,
// and the axes after them. So the innermost loop writes each element once; other iterations of the loops around it
// write the same ones.
void lower_added(kernel::StepBuilder& b) {
  const WindowAxes w(b.node().props);
  const kernel::Operand in = parts_of(b.input(0)), out = parts_of(b.output());
  const size_t rank = b.node().types[0].rank(),
               first = static_cast<size_t>(*std::min_element(w.axes.begin(), w.axes.end())),
               last = static_cast<size_t>(*std::max_element(w.axes.begin(), w.axes.end()));
  const bool adds = !is_disjoint(w);
  std::vector<kernel::NestAxis> axes;
  Dims from, to;
  const auto add = [&](const Dim& length, const Dim& in_stride, const Dim& out_stride, kernel::AxisKind kind) {
    axes.push_back({length, adds ? kind : kernel::AxisKind::kParallel});
    from.push_back(in_stride);
    to.push_back(out_stride);
  };
  for (size_t axis = 0; axis < out.type.rank(); ++axis) {
    // The axis of the parts of complex numbers is the last of both.
    const size_t own = axis < rank ? axis : in.type.rank() - 1;
    if (axis == last)
      for (size_t k = 0; k < w.axes.size(); ++k)
        add(w.sizes[k], in.layout.strides[rank + k], out.layout.strides[static_cast<size_t>(w.axes[k])],
            kernel::AxisKind::kSequential);
    const auto k = std::find(w.axes.begin(), w.axes.end(), static_cast<int64_t>(axis));
    const int64_t step = k == w.axes.end() ? 1 : w.steps[static_cast<size_t>(k - w.axes.begin())];
    add(in.type.dims[own], in.layout.strides[own], out.layout.strides[axis] * Dim(step),
        axis < first  ? kernel::AxisKind::kParallel
        : axis < last ? kernel::AxisKind::kSequential
                      : kernel::AxisKind::kInStep);
  }
  if (adds || !covers_all(w, b.node().types[0].dims)) {
    kernel::Nest zeros(out.type.dims);
    zeros.work = kMoveWork;
    zeros.is_read_again = true;
    const DType dtype = out.type.dtype;
    zeros.store(kernel::placed(out), is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0));
    kernel::schedule(b, zeros, "zeros", "out0 = 0, to be added to");
  }
  kernel::Nest nest(axes);
  nest.work = kMoveWork;
  const Term x = nest.load("x", {in, from});
  nest.store({out, to}, adds ? nest.load("sum", {out, to}) + x : x);
  kernel::schedule(b, nest, "add_windows", "out0 = sums of the windows in0");
}

// ---- cases and records ---------------------------------------------------------------------------------------------

struct WindowExample {
  const char* name;
  Type x;
  Ints axes, sizes, steps;
};

std::vector<WindowExample> window_examples() {
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  return {{"vector", f64({9}), {0}, {3}, {1}},
          {"images", f64({2, 2, 5, 6}), {2, 3}, {3, 2}, {1, 2}},
          {"many_images", f32({3, 2, 12, 19}), {2, 3}, {3, 3}, {1, 1}},
          {"tiles", f32({2, 4, 6}), {1, 2}, {2, 3}, {2, 3}},
          {"gaps", f64({2, 8}), {1}, {2}, {3}},
          {"channels", f32({2, 7, 17}), {1}, {5}, {1}},
          {"columns_first", f64({4, 5}), {1, 0}, {2, 3}, {2, 1}},
          {"whole", f64({3, 4}), {0, 1}, {3, 4}, {1, 1}},
          {"ints", {.dtype = DType::kInt16, .dims = {7}}, {0}, {3}, {2}},
          {"complex", {.dtype = DType::kComplex128, .dims = {2, 5}}, {1}, {2}, {1}}};
}

Props props_of(const Ints& axes, const Ints& sizes, const Ints& steps) {
  return {{"axes", axes}, {"sizes", sizes}, {"steps", steps}};
}

std::vector<OpCase> windows_cases() {
  std::vector<OpCase> out;
  for (const WindowExample& e : window_examples())
    out.push_back({.name = e.name, .inputs = {e.x}, .build = [e](const std::vector<Expr>& in) {
                     return std::vector{windows(in[0], e.axes, e.sizes, e.steps)};
                   }});
  return out;
}

std::vector<OpCase> added_cases() {
  std::vector<OpCase> out;
  for (const WindowExample& e : window_examples())
    out.push_back(
        {.name = e.name,
         .inputs = {{.dtype = e.x.dtype, .dims = WindowAxes(props_of(e.axes, e.sizes, e.steps)).counted(e.x.dims)}},
         .build =
             [e](const std::vector<Expr>& in) {
               return std::vector{add_windows(in[0], e.x.dims, e.axes, e.sizes, e.steps)};
             },
         .bound = 4});
  return out;
}

}  // namespace

const Op& windows_op() {
  static const Op op{
      .name = "windows",
      .doc =
          "y[..., i, ..., j] = x[..., i step + j, ...] along each of axes: parts of sizes elements, steps apart. A "
          "view.\n"
          "Shapes: axes have (length - size) / step + 1 parts, rounded down; new last axes have the sizes.\n"
          "dtypes: any.\n"
          "Gradient: add_windows of the cotangent.\n"
          "Edge cases: an error where an axis is shorter than the size.\n"
          "Example: of 2 in [1, 2, 3]: [[1, 2], [2, 3]]",
      .infer = infer_windows,
      .reference = windows_reference,
      .error = moved_error,
      .gradient =
          [](const GradientArgs& args) {
            const WindowAxes w(args.node.props);
            return std::vector{add_windows(args.cotangent(), args.input(0).dims(), w.axes, w.sizes, w.steps)};
          },
      .jvp = linear_jvp,
      .iterations = &kLaterAxesThatMayFail,
      .aliases = {{.output = 0, .input = 0, .view = windows_view}},
      .cases = windows_cases};
  return op;
}

const Op& add_windows_op() {
  static const Op op{
      .name = "add_windows",
      .doc =
          "y[..., i step + j, ...] = the sum of w[..., i, ..., j] over all i and j that name the element, along axes.\n"
          "Shapes: y has the lengths dims, w those of windows(y).\n"
          "dtypes: numbers.\n"
          "Gradient: windows of the cotangent.\n"
          "Edge cases: 0 where no part has the element.\n"
          "Example: [[1, 2], [2, 3]]: [1, 4, 3]",
      .infer = infer_added,
      .reference = added_reference,
      .error =
          [](const ErrorArgs& a) {
            int64_t most = 1;  // summands of one element
            for (int64_t size : WindowAxes(a.node.props).sizes) most *= size;
            return multilinear_error(a, static_cast<double>(most) + 1);
          },
      .gradient =
          [](const GradientArgs& args) {
            const WindowAxes w(args.node.props);
            return std::vector{windows(args.cotangent(), w.axes, w.sizes, w.steps)};
          },
      .jvp = linear_jvp,
      .lower = lower_added,
      .iterations = &kLaterAxesThatMayFail,
      .cost =
          [](const Node& node) {
            const Dim read = node.inputs[0].type().elements(), written = node.types[0].elements();
            return Cost{read, (read + written) * Dim(static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .cases = added_cases};
  return op;
}

Expr windows(const Operand& operand, const Ints& axes, const Ints& sizes, const Ints& steps) {
  const Expr x = operand.expr();
  Ints at;
  for (int64_t axis : axes) at.push_back(static_cast<int64_t>(axis_of(axis, x, "windows", operand.where())));
  return apply(windows_op(), {x}, props_of(at, sizes, steps), operand.where());
}

Expr add_windows(const Operand& operand, const Dims& dims, const Ints& axes, const Ints& sizes, const Ints& steps) {
  Props props = props_of(axes, sizes, steps);
  props.set("dims", dims);
  return apply(add_windows_op(), {operand.expr()}, std::move(props), operand.where());
}

}  // namespace thtrain
