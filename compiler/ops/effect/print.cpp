// Showing a value while a function runs.
#include <cstdio>

#include "compiler/ir/op.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/jvp_rules.h"

namespace thtrain {

namespace {

std::vector<Type> infer_print(const TypeArgs& args) {
  args.require(args.inputs.size() == 1 || (args.inputs.size() == 2 && args.type(1).kind == TypeKind::kToken),
               "the inputs are a value and perhaps a token");
  args.require(args.type(0).kind == TypeKind::kTensor, "the value is a token", "a tensor");
  return {args.type(0), token_type()};
}

std::vector<Tensor> reference_print(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  std::string line = str(args.node.props.get<std::string>("label"), ": ", x.type_text(), " ", x.text(), "\n");
  std::fputs(line.c_str(), stderr);  // one call: lines of several threads stay whole
  return {x.copy(), Tensor(false)};
}

std::vector<Expr> without_effect(const Node&, std::span<const Expr> inputs) {
  return {inputs[0], inputs.size() == 2 ? inputs[1] : apply(start_token_op(), {})};
}

std::vector<Expr> gradient(const GradientArgs& args) {
  std::vector<Expr> out(args.node.inputs.size());
  out[0] = args.cotangent();
  return out;
}

std::vector<OpCase> cases_print() {
  auto build = [](const std::vector<Expr>& in) { return std::vector{print(in[0], "case")}; };
  return {
      {.name = "matrix", .inputs = {{.dtype = DType::kFloat64, .dims = {2, 3}}}, .build = build},
      {.name = "scalar", .inputs = {{.dtype = DType::kFloat32, .dims = {}}}, .build = build},
      {.name = "empty", .inputs = {{.dtype = DType::kInt64, .dims = {0, 3}}}, .build = build},
  };
}

}  // namespace

const Op& print_op() {
  static const Op op{.name = "print",
                     .doc =
                         "x, and a token; writes \"label: dtype[lengths] values\" to standard error, at most 64 "
                         "values. Runs by the reference, in the order of the tokens.\n"
                         "Shapes: y as x; the token of the effect before it, which a function adds.\n"
                         "dtypes: any.\n"
                         "Gradient: the cotangent.\n"
                         "Edge cases: none.",
                     .infer = infer_print,
                     .reference = reference_print,
                     .error = passed_error,
                     .gradient = gradient,
                     .jvp = passed_jvp,
                     .calls_reference = true,
                     .has_effect = true,
                     .without_effect = without_effect,
                     .foldable = false,
                     .connection = [](const Node&, size_t input, size_t output) { return input == 0 && output == 0; },
                     .cases = cases_print};
  return op;
}

Expr print(const Operand& x, const std::string& label) {
  return apply(print_op(), {x.expr()}, {{"label", label}}, x.where());
}

}  // namespace thtrain
