// argmin and argmax: the position of an extremum along one axis, or among all elements.
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_lower.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;
using kernel::Term;

std::vector<Type> infer_arg_extremum(const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor, "the input must be a dense tensor");
  if (is_complex(x.dtype)) args.fail(str("is not defined for ", name_of(x.dtype)), "bool, integers or floats");
  const Ints& axes = args.props.get<Ints>("axes");
  require_elements(args, axes);
  return {{.dtype = DType::kInt64, .dims = reduced_dims(x.dims, axes, args.props.get<bool>("keepdims"))}};
}

// The definition: the first element that no other is better than; a NaN is better than any number.
template <class T>
int64_t position(bool is_max, const T* x, int64_t n, int64_t stride) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    T a = x[best * stride], b = x[i * stride];
    if (a != a) break;
    if (b != b || (is_max ? b > a : b < a)) best = i;
  }
  return best;
}

std::vector<Tensor> evaluate(bool is_max, const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  const Ints& axes = args.node.props.get<Ints>("axes");
  // All axes are one in row-major order.
  bool all = axes.size() == x.rank();
  int64_t n = all ? x.size() : x.dim(static_cast<size_t>(axes[0]));
  int64_t stride = all ? 1 : x.strides()[static_cast<size_t>(axes[0])];
  if (n == 0 && out.size() > 0) throw_no_elements(args.node);
  Shape outer = x.shape();
  for (int64_t axis : axes) outer[static_cast<size_t>(axis)] = 1;
  int64_t result = 0;
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>)
      for_each_index(outer, [&](const Shape& at) {
        out.data<int64_t>()[result++] = position(is_max, x.data<T>() + x.offset(at), n, stride);
      });
  });
  return {out};
}

// Another element within reach of the extremum: which one it is, is not known.
std::vector<Tensor> error(bool is_max, const ErrorArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_error();
  const Ints& axes = args.node.props.get<Ints>("axes");
  const bool all = axes.size() == x.rank();
  const int64_t n = all ? x.size() : x.dim(static_cast<size_t>(axes[0]));
  const int64_t stride = all ? 1 : x.strides()[static_cast<size_t>(axes[0])];
  Shape outer = x.shape();
  for (int64_t axis : axes) outer[static_cast<size_t>(axis)] = 1;
  int64_t result = 0;
  for_each_index(outer, [&](const Shape& at) {
    const int64_t first = x.offset(at), best = first + args.outputs[0].as_int(result) * stride;
    const double *e = args.errors[0].data<double>(), best_x = x.as_double(best);
    double& to = out.data<double>()[result++];
    for (int64_t i = first; i < first + n * stride; i += stride) {
      const double distance = is_max ? best_x - x.as_double(i) : x.as_double(i) - best_x;
      if (i != best && e[i] + e[best] > 0 && !(distance > e[i] + e[best])) to = kUnknownError;
    }
  });
  return {out};
}

void lower(StepBuilder& b, bool is_max) {
  const DType dtype = b.input(0).type.dtype;
  kernel::Accumulation how = accumulation_of(*reduction_of(is_max ? max_op() : min_op()), dtype);
  how.no_elements = no_elements_check(b.node());
  how.better = [is_max](const Term& a, const Term& b) {
    const Term order = is_max ? b > a : b < a;
    return is_float(a.dtype()) ? a == a && (order || b != b) : order;
  };
  const std::string& name = b.node().op->name;
  lower_by_nest(b, std::move(how), name, str(name, " of in0 ", readable(b.input(0).type.text())));
}

std::vector<OpCase> cases_arg_extremum(const Op& op) {
  struct Row {
    Dims dims;
    Ints axes;
    bool keepdims;
  };
  std::vector<OpCase> out;
  for (const Row& row : std::vector<Row>{{{}, {}, false},
                                         {{7}, {0}, true},
                                         {{3, 10}, {1}, false},
                                         {{5, 71}, {1}, false},
                                         {{40, 3}, {0}, false},
                                         {{140, 19}, {0}, false},
                                         {{20, 3}, {1}, false},
                                         {{2, 3, 5}, {0, 1, 2}, false},
                                         {{2, 3, 5}, {1}, true},
                                         {{1, 4}, {0}, false},
                                         {{0, 4}, {1}, false}})
    for (DType dtype : kAllDTypes) {
      if (is_complex(dtype)) continue;
      Props props{{"axes", row.axes}, {"keepdims", row.keepdims}};
      out.push_back({.name = str(name_of(dtype), "[", dims_text(row.dims), "] over [", join(row.axes, ", "), "]"),
                     .inputs = {{.dtype = dtype, .dims = row.dims}},
                     .build = [&op, props](const std::vector<Expr>& in) { return std::vector{apply(op, in, props)}; },
                     .smooth = false});
    }
  return out;
}

// Of all axes of a value: of one axis that has its elements.
Expr arg_extremum_in_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                    const std::vector<bool>& varies) {
  if (node.props.get<Ints>("axes").size() == 1) return kLaterAxesThatMayFail.all(node, iterations, inputs, varies);
  const Expr elements = reshape(inputs[0], {iterations, node.inputs[0].type().elements()});
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), iterations);
  return reshape(apply(*node.op, {elements}, {{"axes", Ints{1}}, {"keepdims", false}}), lengths);
}

constexpr IterationsRule kArgExtremumOfIterations{.all = arg_extremum_in_all_iterations, .may_fail = true};

Op define(bool is_max, const Op& (*self)()) {
  return {
      .name = is_max ? "argmax" : "argmin",
      .doc = str("The int64 position of the ", is_max ? "greatest" : "least",
                 " element along an axis, or of all elements in row-major order.\n"
                 "Shapes: y is x without the axis, or [].\n"
                 "dtypes: bool, integers, floats; gives int64.\n"
                 "Gradient: none.\n"
                 "Edge cases: the first of several; the first NaN counts as the extremum; an error without elements.\n"
                 "Example: of [3, 1, 2]: ",
                 is_max ? 0 : 1),
      .infer = infer_arg_extremum,
      .reference = [is_max](const ReferenceArgs& args) { return evaluate(is_max, args); },
      .error = [is_max](const ErrorArgs& args) { return error(is_max, args); },
      .lower = [is_max](StepBuilder& b) { lower(b, is_max); },
      .access = [](const Node&, size_t) { return Access::kRow; },
      .iterations = &kArgExtremumOfIterations,
      .cost =
          [](const Node& node) {
            Dim n = node.inputs[0].type().elements();
            return Cost{.flops = n, .bytes = n * static_cast<int64_t>(size_of(node.inputs[0].dtype()))};
          },
      .connection = [](const Node&, size_t, size_t) { return false; },
      .cases = [self] { return cases_arg_extremum(self()); }};
}

Expr build(const Op& op, const Operand& operand, std::optional<int64_t> axis, bool keepdims) {
  Expr x = operand.expr();
  Axes axes = axis ? Axes(*axis) : Axes();
  Ints sorted = reduced_axes(axes, x.rank(), op.name, Origin::here(operand.where()));
  return apply(op, {x}, {{"axes", sorted}, {"keepdims", keepdims}}, operand.where());
}

}  // namespace

const Op& argmin_op() {
  static const Op op = define(false, argmin_op);
  return op;
}
const Op& argmax_op() {
  static const Op op = define(true, argmax_op);
  return op;
}

Expr argmin(const Operand& x, std::optional<int64_t> axis, KeepDims keepdims) {
  return build(argmin_op(), x, axis, keepdims);
}
Expr argmax(const Operand& x, std::optional<int64_t> axis, KeepDims keepdims) {
  return build(argmax_op(), x, axis, keepdims);
}

}  // namespace thtrain
