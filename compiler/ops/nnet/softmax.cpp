// Softmax and log-softmax, which differ in the last step: types, reference, errors, one kernel, cases.
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/iterations_rule.h"

#include <cmath>

#include "compiler/kernel/step_builder.h"
#include "compiler/kernel/term_cost.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/nnet/softmax_candidates.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {
namespace {

// The node's property "axis", from 0 on.
size_t softmax_axis(const Node& node) {
  return static_cast<size_t>(node.props.get<int64_t>("axis"));
}

std::vector<Type> infer_softmax(const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor && is_float(x.dtype), "the input must hold real floats");
  int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(x.rank()), str("there is no axis ", axis));
  return {x};
}

// The definition, in the next wider type, rounded once.
std::vector<Tensor> softmax_reference(const ReferenceArgs& args, bool logarithm) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  size_t axis = softmax_axis(args.node);
  int64_t n = x.dim(axis), stride = x.strides()[axis];
  Shape outer = x.shape();
  outer[axis] = 1;
  if (n == 0) return {out};
  auto run = [&](auto zero, auto wide) {
    using T = decltype(zero);
    using Wide = decltype(wide);
    for_each_index(outer, [&](const Shape& at) {
      const T* from = x.data<T>() + x.offset(at);
      T* to = out.data<T>() + out.offset(at);
      Wide most = from[0], total = 0;
      for (int64_t i = 0; i < n; ++i)
        if (from[i * stride] > most || std::isnan(from[i * stride])) most = from[i * stride];
      for (int64_t i = 0; i < n; ++i) total += std::exp(from[i * stride] - most);
      for (int64_t i = 0; i < n; ++i) {
        Wide away = from[i * stride] - most;
        to[i * stride] = static_cast<T>(logarithm ? away - std::log(total) : std::exp(away) / total);
      }
    });
  };
  if (x.dtype() == DType::kFloat32)
    run(float(), double());
  else
    run(double(), static_cast<long double>(0));
  return {out};
}

// With p the results, errors are factors (of the logarithm, terms): an element's own, the mean of p times those of all,
// and roundings of x - max(x), exp, the sum and the quotient.
std::vector<Tensor> softmax_error(const ErrorArgs& args, bool logarithm) {
  const Tensor x = args.inputs[0].cast(DType::kFloat64), y = args.outputs[0].cast(DType::kFloat64);
  const double* error = args.errors[0].data<double>();
  Tensor out = args.make_error();
  const size_t axis = softmax_axis(args.node);
  const int64_t n = x.dim(axis), stride = x.strides()[axis];
  const FloatLimits limits = float_limits(args.outputs[0].dtype());
  Shape outer = x.shape();
  outer[axis] = 1;
  for_each_index(outer, [&](const Shape& at) {
    const int64_t first = x.offset(at), last = first + n * stride;
    double most = -kUnknownError, largest_error = 0, mean_away = 0;
    for (int64_t i = first; i < last; i += stride) {
      most = std::max(most, x.data<double>()[i]);
      largest_error = std::max(largest_error, error[i]);
    }
    // The distance from the maximum is rounded, and its rounding grows with it.
    auto away = [&](int64_t i) { return std::isinf(x.data<double>()[i]) ? 0 : most - x.data<double>()[i]; };
    for (int64_t i = first; i < last; i += stride)
      mean_away += (logarithm ? std::exp(y.data<double>()[i]) : y.data<double>()[i]) * away(i);
    const double roundings = 24 + roundings_of_sum(n) + 2 * mean_away;
    for (int64_t i = first; i < last; i += stride) {
      const double factor = error[i] + largest_error + (roundings + 2 * away(i)) * limits.unit;
      const double size = std::abs(y.data<double>()[i]);
      double& to = out.data<double>()[i];
      if (std::isinf(factor))
        to = kUnknownError;
      else if (logarithm)
        to = factor + (std::isinf(size) ? 0 : 2 * limits.unit * size);
      else
        to = size * std::expm1(factor) + 8 * limits.tiny;
    }
  });
  return {out};
}

Cost softmax_cost(const Node& node) {
  Dim n = node.types[0].elements();
  constexpr int64_t kFlops = 4 + kernel::kMathCost;  // max, sub, exp, add, mul; of the logarithm as many
  return {.flops = n * kFlops, .bytes = n * 2 * static_cast<int64_t>(size_of(node.types[0].dtype))};
}

std::vector<OpCase> softmax_cases(const Op& op) {
  struct Row {
    Dims dims;
    int64_t axis;
  };
  std::vector<OpCase> out;
  for (const Row& row : std::vector<Row>{{{1}, 0},
                                         {{7}, 0},
                                         {{3, 10}, 1},
                                         {{37, 10}, 1},
                                         {{10, 3}, 0},
                                         {{5, 1}, 1},
                                         {{2, 300}, 1},
                                         {{0, 4}, 1},
                                         {{4, 0}, 1},
                                         {{2, 3, 5}, 1},
                                         {{70, 37}, 0},
                                         {{3, 2, 33}, 2}})
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Props props{{"axis", row.axis}};
      out.push_back({.name = str(name_of(dtype), "[", dims_text(row.dims), "] along ", row.axis),
                     .inputs = {{.dtype = dtype, .dims = row.dims}},
                     .build = [&op, props](const std::vector<Expr>& in) { return std::vector{apply(op, in, props)}; },
                     .low = -5,
                     .high = 5,
                     .bound = 8});
    }
  return out;
}

Expr build_softmax(const Op& op, const Operand& operand, int64_t axis) {
  Expr x = operand.expr();
  size_t at = axis_of(axis, x, op.name, operand.where());
  if (!is_float(x.dtype()) && !is_complex(x.dtype())) x = cast(Operand(x, operand.where()), to_float(x.dtype()));
  return apply(op, {x}, {{"axis", static_cast<int64_t>(at)}}, operand.where());
}

// The same by exp, max, sum and log, each elementwise or along the axis.
Expr softmax_body(const Expr& x, size_t axis, bool logarithm) {
  int64_t a = static_cast<int64_t>(axis);
  bool alone = x.dims()[axis].is(1);  // each element is its own maximum and total
  Expr away = x - (alone ? x : max(x, a, true)), e = exp(away), total = alone ? e : sum(e, a, true);
  return logarithm ? away - log(total) : e * (1 / total);
}

// The node as that body where its axis is known to be longer than 1, else empty.
Expr expand_softmax(const Node& node, const Expr& x, bool logarithm) {
  const Dim& length = node.types[0].dims[softmax_axis(node)];
  return length.is_known() && length.value() > 1 ? softmax_body(x, softmax_axis(node), logarithm) : Expr();
}

// The kernel of that body.
void lower_softmax_rows(kernel::StepBuilder& b) {
  const Expr& x = b.node().inputs[0];
  size_t axis = softmax_axis(b.node());
  if (x.dims()[axis].is(0)) return b.finish_kernel(b.node().op->name, "no elements", 0);
  Graph body;
  body.inputs = {make_input(x.type(), "x")};
  body.outputs = {softmax_body(body.inputs[0], axis, b.node().op == &log_softmax_op())};
  if (x.dims()[axis].is(1)) return lower_elementwise(b, body.inputs, body.outputs);
  lower_rows(b, body, EmptyRows::kSkip);
}

// The Jacobian of a row of softmax is symmetric: both modes multiply by it.
Expr jacobian_times(const Expr& d, const Node& node, const Expr& y) {
  return y * (d - sum(d * y, softmax_axis(node), true));
}

// Without the derivatives.
Op op_of_rows(const char* name, const char* doc, bool logarithm, const Op& (*self)()) {
  return {.name = name,
          .doc = doc,
          .infer = infer_softmax,
          .reference = [logarithm](const ReferenceArgs& args) { return softmax_reference(args, logarithm); },
          .error = [logarithm](const ErrorArgs& a) { return softmax_error(a, logarithm); },
          .lower = [](kernel::StepBuilder& b) { lower_chosen_softmax(b, lower_softmax_rows); },
          .access = [](const Node&, size_t) { return Access::kRow; },
          .expand = [logarithm](const Node& node,
                                std::span<const Expr> inputs) { return expand_softmax(node, inputs[0], logarithm); },
          .iterations = &kLaterAxesOfIterations,
          .aliases = {{.output = 0, .input = 0}},
          .cost = softmax_cost,
          .cases = [self] { return softmax_cases(self()); }};
}

}  // namespace

const Op& softmax_op() {
  static const Op op = [] {
    Op out = op_of_rows("softmax",
                        "y = exp(x - max(x)) / sum(exp(x - max(x))) along axis: probabilities, which sum to 1.\n"
                        "Shapes: y as x.\n"
                        "dtypes: float32 or float64.\n"
                        "Gradient: dx = y (dy - sum(dy y)).\n"
                        "Edge cases: a row that has NaN or +inf, or nothing but -inf, gives NaN.\n"
                        "Example: of [0, 0]: [0.5, 0.5]",
                        false, softmax_op);
    out.gradient = [](const GradientArgs& a) {
      return std::vector{jacobian_times(a.cotangent(), a.node, a.outputs[0])};
    };
    out.jvp = [](const JvpArgs& a) { return std::vector{jacobian_times(a.tangent(), a.node, a.outputs[0])}; };
    return out;
  }();
  return op;
}

const Op& log_softmax_op() {
  static const Op op = [] {
    Op out = op_of_rows("log_softmax",
                        "y = (x - max(x)) - log(sum(exp(x - max(x)))) along axis: the stable form of log(softmax(x)).\n"
                        "Shapes: y as x.\n"
                        "dtypes: float32 or float64.\n"
                        "Gradient: dx = dy - exp(y) sum(dy).\n"
                        "Edge cases: a row that has NaN or +inf, or nothing but -inf, gives NaN.\n"
                        "Example: of [0, 1000]: [-1000, 0]",
                        true, log_softmax_op);
    out.gradient = [](const GradientArgs& args) {
      const Expr &y = args.outputs[0], &dy = args.cotangent();
      return std::vector{dy - exp(y) * sum(dy, softmax_axis(args.node), true)};
    };
    out.jvp = [](const JvpArgs& args) {
      const Expr &y = args.outputs[0], &dx = args.tangent();
      return std::vector{dx - sum(exp(y) * dx, softmax_axis(args.node), true)};
    };
    return out;
  }();
  return op;
}

Expr softmax(const Operand& x, int64_t axis) {
  return build_softmax(softmax_op(), x, axis);
}

Expr log_softmax(const Operand& x, int64_t axis) {
  return build_softmax(log_softmax_op(), x, axis);
}

}  // namespace thtrain
