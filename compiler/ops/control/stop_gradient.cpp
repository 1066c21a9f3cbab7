#include "compiler/ops/control/stop_gradient.h"

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

std::vector<OpCase> cases_of(Expr (*build)(const Expr&)) {
  const Type f64{.dtype = DType::kFloat64, .dims = {2, 3}}, f32{.dtype = DType::kFloat32, .dims = {5}};
  const auto row = [&](std::string name, const Type& type) {
    return OpCase{.name = std::move(name),
                  .inputs = {type},
                  .build = [build](const std::vector<Expr>& x) { return std::vector{build(x[0])}; },
                  .smooth = false};  // its derivative is not that of its values
  };
  return {row("f64", f64), row("f32", f32)};
}

// An op whose value is its input. The derivative that passes is what `derivative` makes of it.
Op identity(std::string name, std::string doc, Expr (*derivative)(const Node&, const Expr&),
            Expr (*example)(const Expr&)) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
          .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.inputs[0]}; },
          .error = passed_error,
          .gradient = [derivative](const GradientArgs& a) { return std::vector{derivative(a.node, a.cotangent())}; },
          .jvp = [derivative](const JvpArgs& a) { return std::vector{derivative(a.node, a.tangent())}; },
          .iterations = &kSameOpOfIterations,
          .only_derivatives = true,
          .aliases = {{.output = 0, .input = 0, .view = same_layout}},
          .cases = [example] { return cases_of(example); }};
}

}  // namespace

const Op& stop_gradient_op() {
  static const Op op = [] {
    Op made = identity(
        "stop_gradient",
        "x, of which no derivative is taken. A view of x.\n"
        "Shapes: y as x.\n"
        "dtypes: any.\n"
        "Gradient: none; x is taken as constant.\n"
        "Edge cases: none.",
        [](const Node&, const Expr&) { return Expr(); }, [](const Expr& x) { return stop_gradient(x); });
    made.connection = [](const Node&, size_t, size_t) { return false; };
    return made;
  }();
  return op;
}

const Op& zero_grad_op() {
  static const Op op = identity(
      "zero_grad",
      "x, whose derivative is 0. A view of x.\n"
      "Shapes: y as x.\n"
      "dtypes: any.\n"
      "Gradient: 0.\n"
      "Edge cases: none.",
      [](const Node&, const Expr& d) { return zeros_like(d); }, [](const Expr& x) { return zero_grad(x); });
  return op;
}

const Op& grad_clip_op() {
  static const Op op = identity(
      "grad_clip",
      "x, whose derivative is moved into [low, high] where it passes. A view of x.\n"
      "Shapes: y as x.\n"
      "dtypes: floats.\n"
      "Gradient: clip(dy, low, high).\n"
      "Edge cases: a NaN stays.\n"
      "Example: dy = 7, bounds -1 and 1: 1",
      [](const Node& node, const Expr& d) {
        return clip(d, node.props.get<double>("low"), node.props.get<double>("high"));
      },
      [](const Expr& x) { return grad_clip(x, -0.5, 0.5); });
  return op;
}

const Op& grad_scale_op() {
  static const Op op = identity(
      "grad_scale",
      "x, whose derivative is multiplied by `factor` where it passes. A view of x.\n"
      "Shapes: y as x.\n"
      "dtypes: any.\n"
      "Gradient: dy times factor.\n"
      "Edge cases: none.\n"
      "Example: dy = 7, factor 2: 14",
      [](const Node& node, const Expr& d) { return d * node.props.get<double>("factor"); },
      [](const Expr& x) { return grad_scale(x, -2); });
  return op;
}

Expr stop_gradient(const Operand& x) {
  return apply(stop_gradient_op(), {x.expr()}, {}, x.where());
}

Expr zero_grad(const Operand& x) {
  return apply(zero_grad_op(), {x.expr()}, {}, x.where());
}

Expr grad_clip(const Operand& operand, double low, double high) {
  const Expr x = operand.expr();
  if (!is_float(x.dtype()))
    fail_build(operand.where(), "grad_clip: only derivatives of real floating values can be clipped",
               "float32 or float64", value_text(x));
  if (!(low <= high))
    fail_build(operand.where(), "grad_clip: the bounds are in the wrong order", "low <= high", str(low, " and ", high));
  return apply(grad_clip_op(), {x}, {{"low", low}, {"high", high}}, operand.where());
}

Expr grad_scale(const Operand& x, double factor) {
  return apply(grad_scale_op(), {x.expr()}, {{"factor", factor}}, x.where());
}

}  // namespace thtrain
