// A value that keeps to a condition, such as the sign of an element, which its derivatives must keep to, too.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/iterations_rule.h"

namespace thtrain {

const Op& another_form_op() {
  static const Op op{
      .name = "another_form",
      .doc =
          "x, which equals y: a view of x, with the derivatives of y.\n"
          "Shapes: all the same.\n"
          "dtypes: floats and complex numbers, all the same.\n"
          "Gradient: the cotangent to y, none to x.\n"
          "Edge cases: none.",
      .infer =
          [](const TypeArgs& a) {
            a.require(a.type(0).dtype == a.type(1).dtype && a.type(0).rank() == a.type(1).rank(),
                      "operands differ in dtype or rank");
            return std::vector{a.type(0)};
          },
      .reference = [](const ReferenceArgs& a) { return std::vector{a.inputs[0]}; },
      .error = passed_error,
      .gradient =
          [](const GradientArgs& a) {
            return std::vector{Expr(), a.cotangent()};
          },
      .jvp = [](const JvpArgs& a) { return std::vector{a.tangent(1)}; },
      .iterations = &kSameOpOfIterations,
      .only_derivatives = true,
      .aliases = {{.output = 0, .input = 0, .view = same_layout}},
      .connection = [](const Node&, size_t input, size_t) { return input != 0; },
      .cases =
          [] {
            const auto build = [](const std::vector<Expr>& in) {
              return std::vector{another_form(sin(in[0]) * 2.0, sin(in[0]) + sin(in[0]))};
            };
            return std::vector<OpCase>{
                {.name = "matrix", .inputs = {{.dtype = DType::kFloat64, .dims = {2, 3}}}, .build = build, .bound = 8}};
          },
  };
  return op;
}

Expr another_form(const Expr& x, const Expr& y) {
  return apply(another_form_op(), {x, y});
}

}  // namespace thtrain
