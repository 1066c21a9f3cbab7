#include "compiler/ops/reduce/cumulative.h"

#include "compiler/ir/op.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/reduce/device_scan.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

size_t axis_number(const Node& node) {
  return static_cast<size_t>(node.props.get<int64_t>("axis"));
}

/// What makes one of these ops of a reduction, whose values so far they give.
struct Running {
  std::string name, doc;
  const Op& (*reduction)();
  const Op& (*self)();
  /// The definition: the next value from the one before and an element.
  std::function<void(DType, void* before, const void* element, void* next)> step;
  std::function<Expr(const GradientArgs&)> gradient;
  std::function<std::vector<Expr>(const JvpArgs&)> jvp = {};
  ErrorRule error;
};

// step(T before, T element) -> T for elements of each dtype.
template <class F>
std::function<void(DType, void*, const void*, void*)> step_of(F step) {
  return [step](DType dtype, void* before, const void* element, void* next) {
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      *static_cast<T*>(next) = step(*static_cast<T*>(before), *static_cast<const T*>(element));
    });
  };
}

template <bool is_max>
auto extremum_step() {
  return step_of([](auto before, auto x) {
    using T = decltype(before);
    if constexpr (is_complex_v<T>)
      return before;
    else
      return T((is_max ? x > before : x < before) || x != x ? x : before);
  });
}

std::vector<Type> infer_running(const TypeArgs& args, const Reduction& of) {
  const Type& x = args.type(0);
  const int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(x.rank()), "there is no such axis",
               str("axes from 0 to ", x.rank(), " (without)"));
  const std::optional<DType> dtype = of.dtype(x.dtype);
  if (!dtype) args.fail(str("is not defined for ", name_of(x.dtype)), "bool, integers or floats");
  return {{.dtype = *dtype, .dims = x.dims}};
}

std::vector<Tensor> reference_running(const ReferenceArgs& args, const Running& record) {
  const size_t axis = axis_number(args.node);
  Tensor out = args.inputs[0].cast(args.node.types[0].dtype).contiguous().copy();
  if (out.size() == 0) return {out};
  const auto size = static_cast<int64_t>(size_of(out.dtype()));
  for_each_index(out.shape(), [&](const Shape& at) {
    char* element = static_cast<char*>(out.raw()) + size * out.offset(at);
    if (at[axis] > 0) record.step(out.dtype(), element - size * out.strides()[axis], element, element);
  });
  return {out};
}

Parts combined(const Reduction& of, const Parts& a, const Parts& b) {
  if (!a.is_complex()) return of.combine(a.re, b.re);
  return of.combine_complex ? of.combine_complex(a, b) : Parts(of.combine(a.re, b.re), of.combine(a.im, b.im));
}

// y[0] = x[0], then y[i + 1] = y[i] and x[i + 1] combined: the first elements by a kernel of their own. Iterations
// along the other axes are independent.
void lower_running(kernel::StepBuilder& b, const Running& record) {
  const kernel::Operand &x = b.input(0), &out = b.output();
  const size_t axis = axis_number(b.node());
  const Dim length = out.type.dims[axis];
  const Reduction& reduction = *reduction_of(record.reduction());
  if (lower_device_scan(b, axis, record.name, reduction.combine)) return;
  auto nest_of = [&](const Dim& iterations) {
    std::vector<kernel::NestAxis> axes;
    for (const Dim& dim : out.type.dims) axes.push_back({dim});
    axes[axis] = {iterations, kernel::AxisKind::kSequential};
    return kernel::Nest(std::move(axes));
  };
  if (!b.overwrites(0)) {
    kernel::Nest first = nest_of(min(length, Dim(1)));
    store_value(first, placed(out), converted(load_value(first, "x", placed(x)), out.type.dtype));
    first.is_read_again = true;
    kernel::schedule(b, first, record.name + "_first", "the first elements along the axis");
  }
  if (length.is_known() && length.value() < 2) return;
  kernel::Nest rest = nest_of(at_least_zero(length - Dim(1)));
  const Parts before = load_value(rest, "before", placed(out));
  const Parts more = load_value(rest, "x", placed(x, b.length(x.layout.strides[axis])));
  Parts next = combined(reduction, before, converted(more, out.type.dtype));
  next.re = rest.let("next", next.re);
  if (next.is_complex()) next.im = rest.let("next_im", next.im);
  store_value(rest, placed(out, b.length(out.layout.strides[axis])), next);
  rest.work = 3;
  kernel::schedule(b, rest, record.name, "out0 = the element before it combined with in0, along the axis");
}

// ---- derivatives

Expr reversed(const Expr& x, size_t axis) {
  std::vector<Index> indices(axis, Slice{});
  indices.emplace_back(Slice{.step = -1});
  return subtensor(x, indices);
}

Expr sums_from_end(const Expr& x, size_t axis) {
  return reversed(cumsum(reversed(x, axis), static_cast<int64_t>(axis)), axis);
}

// Before the first zero of a line: the sums from the end of c y, over x. At it: those with x = 1 there. Behind it 0.
Expr gradient_of_products(const GradientArgs& args) {
  const size_t axis = axis_number(args.node);
  const auto along = static_cast<int64_t>(axis);
  const Expr &x = args.input(0), &c = args.cotangent();
  const Expr one = Operand(1).for_dtype(x.dtype()), none = Operand(0).for_dtype(x.dtype());
  const Expr is_zero = eq(x, 0), zeros = cumsum(is_zero, along);
  const Expr is_first = logical_and(is_zero, eq(zeros, 1));
  const Expr before = sums_from_end(c * args.outputs[0], axis) / switch_(is_zero, one, x);
  const Expr at = sums_from_end(c * cumprod(switch_(is_first, one, x), along), axis);
  return switch_(eq(zeros, 0), before, switch_(is_first, at, none));
}

// Where along the axis the value so far was found: the last place at which it changed. A NaN stays.
Expr places_of_extrema(const Expr& y, size_t axis) {
  std::vector<Index> after(axis, Slice{}), before(axis, Slice{});
  after.emplace_back(Slice{.start = 1});
  before.emplace_back(Slice{.stop = -1});
  const Expr earlier = subtensor(y, before);
  const Expr changes = logical_and(neq(subtensor(y, after), earlier), logical_not(isnan(earlier)));
  Dims first = y.dims();
  first[axis] = min(first[axis], Dim(1));
  const auto along = static_cast<int64_t>(axis);
  const Expr is_new = join(along, {ones(first, DType::kBool), changes});
  Ints order(y.rank(), -1);
  order[axis] = 0;
  const Expr numbers = dimshuffle(arange(length(is_new, along)), order);
  return cummax(where(is_new, numbers, 0), along);
}

Expr gradient_of_extrema(const GradientArgs& args) {
  const size_t axis = axis_number(args.node);
  return scatter_add_along_axis(zeros_like(args.input(0)), places_of_extrema(args.outputs[0], axis), args.cotangent(),
                                static_cast<int64_t>(axis));
}

std::vector<Expr> jvp_of_extrema(const JvpArgs& args) {
  const size_t axis = axis_number(args.node);
  return {take_along_axis(args.tangent(), places_of_extrema(args.outputs[0], axis), static_cast<int64_t>(axis))};
}

// ---- errors, cases

std::vector<Tensor> error_of_folds(const ErrorArgs& a) {
  return multilinear_error(a, static_cast<double>(a.inputs[0].dim(axis_number(a.node))) + 1);
}

// An extremum moves no farther than the element so far that moves most.
std::vector<Tensor> error_of_extrema(const ErrorArgs& a) {
  if (all_zero(a.errors[0])) return {a.make_error()};
  const Expr error = make_input({.dtype = DType::kFloat64, .dims = a.node.inputs[0].dims()}, "e");
  return {a.evaluate(apply(cummax_op(), {error}, a.node.props).node(), std::vector{a.errors[0]})[0]};
}

std::vector<OpCase> cases_running(const Running& record) {
  const Op& op = record.self();
  auto along = [&op](int64_t axis) {
    return [&op, axis](const std::vector<Expr>& in) { return std::vector{apply(op, {in[0]}, {{"axis", axis}})}; };
  };
  auto reversed_columns = [&op](const std::vector<Expr>& in) {
    return std::vector{apply(op, {reversed(in[0], 1)}, {{"axis", int64_t{1}}})};
  };
  auto of = [](DType dtype, Dims dims) { return std::vector{Type{.dtype = dtype, .dims = std::move(dims)}}; };
  std::vector<OpCase> out = {
      {.name = "vector", .inputs = of(DType::kFloat64, {9}), .build = along(0)},
      {.name = "one", .inputs = of(DType::kFloat32, {1}), .build = along(0)},
      {.name = "rows", .inputs = of(DType::kFloat32, {5, 21}), .build = along(1)},
      {.name = "columns", .inputs = of(DType::kFloat32, {5, 21}), .build = along(0)},
      {.name = "middle", .inputs = of(DType::kFloat64, {3, 4, 7}), .build = along(1)},
      {.name = "reversed", .inputs = of(DType::kFloat64, {3, 4}), .build = reversed_columns},
      {.name = "of_any_length", .inputs = of(DType::kFloat64, {3, "n"}), .build = along(1), .bound = 8},
      {.name = "nothing", .inputs = of(DType::kFloat64, {0, 3}), .build = along(0)},
      {.name = "no_columns", .inputs = of(DType::kFloat64, {3, 0}), .build = along(0)},
      {.name = "ints", .inputs = of(DType::kInt32, {4, 6}), .build = along(1), .int_low = -9, .int_high = 9},
      {.name = "unsigned", .inputs = of(DType::kUInt8, {300}), .build = along(0), .int_high = 255},
      {.name = "bools", .inputs = of(DType::kBool, {3, 5}), .build = along(0)},
  };
  if (reduction_of(record.reduction())->dtype(DType::kComplex64))
    out.push_back({.name = "complex", .inputs = of(DType::kComplex64, {4, 3}), .build = along(0), .bound = 16});
  return out;
}

Op define_running(const Running& record) {
  return {.name = record.name,
          .doc = record.doc,
          .infer = [record](const TypeArgs& args) { return infer_running(args, *reduction_of(record.reduction())); },
          .reference = [record](const ReferenceArgs& args) { return reference_running(args, record); },
          .error = record.error,
          .gradient = [record](const GradientArgs& args) { return std::vector{record.gradient(args)}; },
          .jvp = record.jvp,
          .lower = [record](kernel::StepBuilder& b) { lower_running(b, record); },
          .access = [](const Node&, size_t) { return Access::kRow; },
          .iterations = &kLaterAxesOfIterations,
          .aliases = {{.output = 0, .input = 0}},
          .cost =
              [](const Node& node) {
                const Dim elements = node.types[0].elements();
                return Cost{elements, elements * Dim(static_cast<int64_t>(2 * size_of(node.types[0].dtype)))};
              },
          .cases = [record] { return cases_running(record); }};
}

Running running_extremum(bool is_max, const Op& (*self)()) {
  const std::string word = is_max ? "largest" : "least";
  return {.name = is_max ? "cummax" : "cummin",
          .doc = str("y[a, i, c] = the ", word, " of x[a, 0, c], ..., x[a, i, c].\n",
                     "Shapes: y as x.\n"
                     "dtypes: bool, integers, floats, which stay.\n"
                     "Gradient: to the element that is the ",
                     word,
                     " one so far, the first of equal ones.\n"
                     "Edge cases: NaN from the first NaN on.\n"
                     "Example: of [2, 3, 1]: ",
                     is_max ? "[2, 3, 3]" : "[2, 2, 1]"),
          .reduction = is_max ? max_op : min_op,
          .self = self,
          .step = is_max ? extremum_step<true>() : extremum_step<false>(),
          .gradient = gradient_of_extrema,
          .jvp = jvp_of_extrema,
          .error = error_of_extrema};
}

Expr build(const Op& op, const Operand& operand, std::optional<int64_t> axis) {
  const Expr x = axis ? operand.expr() : flatten(operand);
  const size_t along = axis_of(axis.value_or(0), x, op.name, operand.where());
  return apply(op, {x}, {{"axis", static_cast<int64_t>(along)}}, operand.where());
}

}  // namespace

const Op& cumsum_op() {
  static const Op op = define_running(
      {.name = "cumsum",
       .doc = "y[a, i, c] = x[a, 0, c] + ... + x[a, i, c], added one after the other in the dtype of y, as NumPy's; on "
              "a device "
              "by blocks.\n"
              "Shapes: y as x.\n"
              "dtypes: integers and bool give int64 or uint64; floats and complex numbers keep their dtype.\n"
              "Gradient: the running sums of the cotangent from the end.\n"
              "Edge cases: integers wrap around. NaN from the first NaN on.\n"
              "Example: of [1, 2, 3]: [1, 3, 6]",
       .reduction = sum_op,
       .self = cumsum_op,
       .step = step_of([](auto before, auto x) { return wrapping_add(before, x); }),
       .gradient = [](const GradientArgs& args) { return sums_from_end(args.cotangent(), axis_number(args.node)); },
       .jvp = linear_jvp,
       .error = error_of_folds});
  return op;
}

const Op& cumprod_op() {
  static const Op op = define_running(
      {.name = "cumprod",
       .doc = "y[a, i, c] = x[a, 0, c] ... x[a, i, c], multiplied one after the other in the dtype of y, as NumPy's; "
              "on a device "
              "by blocks.\n"
              "Shapes: y as x.\n"
              "dtypes: integers and bool give int64 or uint64; floats and complex numbers keep their dtype.\n"
              "Gradient: the sums from the end of the cotangent times y, over x; at the first zero of a line those of "
              "the products without it, and 0 behind it. A second derivative is right where a line has no zeros.\n"
              "Edge cases: integers wrap around. NaN from the first NaN on.\n"
              "Example: of [1, 2, 3]: [1, 2, 6]",
       .reduction = prod_op,
       .self = cumprod_op,
       .step = step_of([](auto before, auto x) { return wrapping_mul(before, x); }),
       .gradient = gradient_of_products,
       .error = error_of_folds});
  return op;
}

const Op& cummax_op() {
  static const Op op = define_running(running_extremum(true, cummax_op));
  return op;
}
const Op& cummin_op() {
  static const Op op = define_running(running_extremum(false, cummin_op));
  return op;
}

Expr cumsum(const Operand& x, std::optional<int64_t> axis) {
  return build(cumsum_op(), x, axis);
}
Expr cumprod(const Operand& x, std::optional<int64_t> axis) {
  return build(cumprod_op(), x, axis);
}
Expr cummax(const Operand& x, std::optional<int64_t> axis) {
  return build(cummax_op(), x, axis);
}
Expr cummin(const Operand& x, std::optional<int64_t> axis) {
  return build(cummin_op(), x, axis);
}

}  // namespace thtrain
