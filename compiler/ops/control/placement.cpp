#include "compiler/ops/control/placement.h"

#include "compiler/ir/op.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"

namespace thtrain {
namespace {

std::vector<OpCase> cases_of_placement(Expr (*build)(const Operand&)) {
  const auto row = [&](std::string name, DType dtype, Dims dims) {
    return OpCase{.name = std::move(name),
                  .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                  .build = [build](const std::vector<Expr>& x) { return std::vector{build(x[0])}; }};
  };
  return {row("f64", DType::kFloat64, {2, 3}), row("f32", DType::kFloat32, {5}), row("i64", DType::kInt64, {4})};
}

Op placement(std::string name, std::string doc, Place place, Expr (*build)(const Operand&)) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
          .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.inputs[0]}; },
          .error = passed_error,
          .iterations = &kSameOpOfIterations,
          .place = place,
          .foldable = false,
          .symbolic = [](const Node&, std::span<const Dim> values) -> std::optional<Dim> { return values[0]; },
          .cases = [build] { return cases_of_placement(build); }};
}

}  // namespace

const Op& on_host_op() {
  static const Op op = [] {
    Op made = placement("on_host",
                        "x on the host: a function for a device computes there what is computed from it, up to "
                        "`on_device`, an output or an update. A view of x.\n"
                        "Shapes: y as x.\n"
                        "dtypes: any.\n"
                        "Gradient: dy, on the device.\n"
                        "Edge cases: for a processor it is x.",
                        Place::kHost, on_host);
    made.gradient = [](const GradientArgs& a) { return std::vector{on_device(a.cotangent())}; };
    made.jvp = [](const JvpArgs& a) { return std::vector{on_host(a.tangent())}; };
    made.aliases = {{.output = 0, .input = 0, .view = same_layout}};
    return made;
  }();
  return op;
}

const Op& on_device_op() {
  static const Op op = [] {
    Op made = placement("on_device",
                        "x where a function for a device computes: a copy of a value that `on_host` has placed.\n"
                        "Shapes: y as x.\n"
                        "dtypes: any.\n"
                        "Gradient: dy.\n"
                        "Edge cases: for a processor, and of a value that is there already, it is x.",
                        Place::kDevice, on_device);
    made.gradient = [](const GradientArgs& a) { return std::vector{a.cotangent()}; };
    made.jvp = [](const JvpArgs& a) { return std::vector{on_device(a.tangent())}; };
    made.calls_reference = true;
    return made;
  }();
  return op;
}

Expr on_host(const Operand& x) {
  return apply(on_host_op(), {x.expr()}, {}, x.where());
}

Expr on_device(const Operand& x) {
  return apply(on_device_op(), {x.expr()}, {}, x.where());
}

}  // namespace thtrain
