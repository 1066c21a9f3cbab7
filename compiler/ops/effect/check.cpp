// Failing where a condition does not hold.
#include "compiler/ir/op.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

namespace {

std::vector<Type> infer_check(const TypeArgs& args) {
  args.require(is_bool(args.type(1).dtype), "the condition is not a bool", "a bool, or a tensor of them");
  return {args.type(0)};
}

std::vector<Tensor> reference_check(const ReferenceArgs& args) {
  const Tensor& condition = args.inputs[1];
  for (int64_t i = 0; i < condition.size(); ++i)
    if (!condition.data<bool>()[i])
      throw UserError({.what = str("check: ", args.node.props.get<std::string>("message")),
                       .expected = "a condition that holds",
                       .node = args.node.origin.text(),
                       .config = args.node.origin.config()});
  return {args.inputs[0].copy()};
}

void lower(kernel::StepBuilder& b) {
  const kernel::Operand& condition = b.input(1);
  kernel::Nest nest(condition.type.dims);
  nest.require(nest.load("holds", kernel::placed(condition)),
               {str("check: ", b.node().props.get<std::string>("message")), "a condition that holds", b.node().origin},
               0, 1);
  kernel::schedule(b, nest, "check", "all of in1 holds");
  if (!b.overwrites(0)) copy_kernel(b, 0, "out0 = in0, after the check");
}

std::vector<OpCase> cases_check() {
  auto above = [](double bound) {
    return [bound](const std::vector<Expr>& in) {
      return std::vector{check(in[0], gt(in.back(), bound), "a value is too small")};
    };
  };
  return {
      {.name = "matrix", .inputs = {{.dtype = DType::kFloat64, .dims = {3, 5}}}, .build = above(-3)},
      {.name = "scalar_condition",
       .inputs = {{.dtype = DType::kFloat32, .dims = {17}}, {.dtype = DType::kFloat32, .dims = {}}},
       .build = above(-3)},
      {.name = "of_nothing", .inputs = {{.dtype = DType::kInt32, .dims = {0, 2}}}, .build = above(-3)},
  };
}

}  // namespace

const Op& check_op() {
  static const Op op{.name = "check",
                     .doc =
                         "x; fails with the message unless every element of the condition holds. Not ordered: it "
                         "belongs to its result, and is there as long as that is used.\n"
                         "Shapes: y as x, the condition any.\n"
                         "dtypes: x any, the condition bool.\n"
                         "Gradient: the cotangent; the condition has none.\n"
                         "Edge cases: a condition without elements holds.",
                     .infer = infer_check,
                     .reference = reference_check,
                     .error = passed_error,
                     .gradient =
                         [](const GradientArgs& args) {
                           return std::vector{args.cotangent(), Expr()};
                         },
                     .jvp = passed_jvp,
                     .lower = lower,
                     .aliases = {{.output = 0, .input = 0}},
                     .foldable = false,
                     .cost =
                         [](const Node& node) {
                           return Cost{node.inputs[1].type().elements(), node.inputs[1].type().elements()};
                         },
                     .connection = [](const Node&, size_t input, size_t) { return input == 0; },
                     .cases = cases_check};
  return op;
}

Expr check(const Operand& x, const Operand& condition, const std::string& message) {
  return apply(check_op(), {x.expr(), condition.expr()}, {{"message", message}}, x.where());
}

}  // namespace thtrain
