// Numbers at equal distances.
#include <cmath>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

// Of integers: start is a Dim, step an int64. Of floats: both are doubles.
bool is_integral(const Node& node) {
  return node.props.has("first");
}

std::vector<Type> infer_arange(const TypeArgs& args) {
  Type out{.dtype = args.props.get<DType>("dtype"), .dims = args.props.get<Dims>("dims")};
  args.require(out.rank() == 1, "a vector is made", "one length");
  if (args.props.has("first"))
    args.require(is_int(out.dtype) || is_float(out.dtype), "the dtype has no order", "an integer or float dtype");
  else
    args.require(is_float(out.dtype), "floats are asked for in another dtype", "a float dtype");
  require_length(args, out.dims[0]);
  return {out};
}

std::vector<Tensor> reference_arange(const ReferenceArgs& args) {
  const Props& props = args.node.props;
  Tensor out = args.make_output();
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>) {
      T* y = out.data<T>();
      if (is_integral(args.node)) {
        const Dim& first = props.get<Dims>("first")[0];
        int64_t start = first.is_known() ? first.value() : first.evaluate(args.length_of);
        for (int64_t i = 0; i < out.size(); ++i) y[i] = static_cast<T>(start + i * props.get<int64_t>("step"));
      } else {
        // As NumPy: the distance of the first two numbers in the dtype is the distance of all.
        double start = props.get<double>("start"), step = props.get<double>("step");
        T base = static_cast<T>(start), next = static_cast<T>(start + step);
        T distance = static_cast<T>(next - base);
        for (int64_t i = 0; i < out.size(); ++i) y[i] = static_cast<T>(base + static_cast<T>(i) * distance);
      }
    }
  });
  return {out};
}

void lower_arange(kernel::StepBuilder& b) {
  const kernel::Operand& out = b.output();
  const Props& props = b.node().props;
  const DType dtype = out.type.dtype;
  kernel::Nest nest(out.type.dims);
  nest.operation(2, sizeof(int64_t));
  const kernel::Term i = nest.axis(0);
  if (is_integral(b.node())) {
    const kernel::Term start = b.length(props.get<Dims>("first")[0]), step = props.get<int64_t>("step");
    nest.store(kernel::placed(out), nest.let("x", kernel::cast(start + i * step, dtype)));
  } else {
    const double start = props.get<double>("start"), next = start + props.get<double>("step");
    const double distance =
        dtype == DType::kFloat32 ? static_cast<float>(next) - static_cast<float>(start) : next - start;
    const kernel::Term first = kernel::constant(dtype, start), by = kernel::constant(dtype, distance);
    nest.store(kernel::placed(out), nest.let("x", first + kernel::cast(i, dtype) * by));
  }
  kernel::schedule(b, nest, "arange", "out0[i] = start + i * step");
}

std::vector<OpCase> cases_arange() {
  auto made = [](Operand start, Operand stop, Operand step, std::optional<DType> dtype) {
    return [=](const std::vector<Expr>&) { return std::vector{arange(start, stop, step, dtype)}; };
  };
  return {
      {.name = "ints", .inputs = {}, .build = made(0, 7, 1, {})},
      {.name = "down", .inputs = {}, .build = made(5, -6, -3, DType::kInt32)},
      {.name = "as_floats", .inputs = {}, .build = made(2, 11, 2, DType::kFloat32)},
      {.name = "floats", .inputs = {}, .build = made(0.0, 1.0, 0.1, DType::kFloat64)},
      {.name = "floats_down", .inputs = {}, .build = made(1.5, -2.0, -0.3, DType::kFloat32)},
      {.name = "none", .inputs = {}, .build = made(3, 3, 1, {})},
  };
}

}  // namespace

const Op& arange_op() {
  static const Op op{
      .name = "arange",
      .doc =
          "y[i] = start + i * step, for the i >= 0 that stay before stop.\n"
          "Shapes: y [n], n = ceil((stop - start) / step); no inputs.\n"
          "dtypes: integers, float32, float64.\n"
          "Gradient: none.\n"
          "Edge cases: none where stop is not behind start. Floats as in NumPy: start + i * ((start + step) - start), "
          "each rounded to the dtype.\n"
          "Example: from 0 below 3: [0, 1, 2]",
      .infer = infer_arange,
      .reference = reference_arange,
      .lower = lower_arange,
      .foldable = false,
      .cost =
          [](const Node& node) {
            Dim elements = node.types[0].elements();
            return Cost{Dim(2) * elements, elements * Dim(static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .cases = cases_arange};
  return op;
}

Expr arange(const Operand& stop, std::optional<DType> dtype) {
  return arange(Operand(0, stop.where()), stop, Operand(1, stop.where()), dtype);
}

static double constant_float(const Expr& value, const std::source_location& where) {
  auto number = value.rank() == 0 ? constant_number(value) : std::nullopt;
  if (!number)
    fail_build(where, "arange: the number of elements is not known before the graph runs", "floats that are constants",
               value_text(value), "cast it to int64: arange of integers takes numbers that the graph computes");
  return *number;
}

static Dim integer_of(const Expr& value, const std::source_location& where) {
  return Length(value, where).dim();
}

// Of integers that only a call can tell: start + step * (0, 1, ...), as many as the graph computes.
static Expr computed_arange(const Expr& start, const Expr& stop, int64_t step, DType dtype,
                            const std::source_location& where) {
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const Expr first = cast(start, DType::kInt64), last = cast(stop, DType::kInt64);
  const Expr span = step > 0 ? last - first : first - last;
  const int64_t size = step > 0 ? step : -step;
  const Expr count = maximum(floor_div(span + (size - 1), size), 0);
  const Dim length = defined_length(define_length(count, count, {}, where));
  const Expr numbers = apply(
      arange_op(), {}, {{"first", Dims{0}}, {"step", step}, {"dims", Dims{length}}, {"dtype", DType::kInt64}}, where);
  return cast(numbers + first, dtype);
}

Expr arange(const Operand& from, const Operand& to, const Operand& by, std::optional<DType> dtype) {
  Expr start = from.expr(), stop = to.expr(), step = by.expr();
  const std::source_location& where = to.where();
  if (is_int(start.dtype()) && is_int(stop.dtype()) && is_int(step.dtype())) {
    const std::optional<Dim> distance = symbolic_value(step);
    if (!distance || !distance->is_known() || distance->is(0))
      fail_build(where, "arange: the step is 0 or not known", "a constant, but not 0", value_text(step),
                 distance && distance->is_known() ? "" : "arange(count) * step + start takes any step");
    int64_t by_number = distance->value();
    if (!symbolic_value(start) || !symbolic_value(stop))
      return computed_arange(start, stop, by_number, dtype.value_or(DType::kInt64), where);
    Dim first = integer_of(start, where);
    Dim span = by_number > 0 ? integer_of(stop, where) - first : first - integer_of(stop, where);
    int64_t size = by_number > 0 ? by_number : -by_number;
    Dim count = at_least_zero(floor_div(span + (size - 1), size));
    return apply(
        arange_op(), {},
        {{"first", Dims{first}}, {"step", by_number}, {"dims", Dims{count}}, {"dtype", dtype.value_or(DType::kInt64)}},
        where);
  }
  double first = constant_float(start, where), last = constant_float(stop, where),
         distance = constant_float(step, where);
  double count = std::ceil((last - first) / distance);
  if (!(std::fabs(count) < 9e15))
    fail_build(where, "arange: the number of elements is not finite", "a finite start and stop, a step that is not 0",
               str("start ", first, ", stop ", last, ", step ", distance));
  Dim length(static_cast<int64_t>(std::max(count, 0.0)));
  return apply(arange_op(), {},
               {{"start", first}, {"step", distance}, {"dims", Dims{length}}, {"dtype", dtype.value_or(floatX())}},
               where);
}

}  // namespace thtrain
