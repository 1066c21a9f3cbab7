#include "compiler/ops/control/stable_gradient.h"

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"

namespace thtrain {

const Op& stable_gradient_op() {
  static const Op op{
      .name = "stable_gradient",
      .doc =
          "x, of which y is a form that stays finite in more cases. A view of x. The optimizer replaces it by y, but "
          "for the level strict.\n"
          "Shapes: x and y the same.\n"
          "dtypes: x and y the same.\n"
          "Gradient: d/dx = 1, d/dy = 0.\n"
          "Edge cases: where x is infinite or NaN, y may be finite.",
      .infer =
          [](const TypeArgs& a) {
            a.require(a.type(0) == a.type(1), "the two forms have different types");
            return std::vector<Type>{a.type(0)};
          },
      .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.inputs[0]}; },
      .error = passed_error,
      .gradient =
          [](const GradientArgs& a) {
            return std::vector<Expr>{a.cotangent(), {}};
          },
      .jvp = passed_jvp,
      .iterations = &kSameOpOfIterations,
      .aliases = {{.output = 0, .input = 0, .view = same_layout}},
      .connection = [](const Node&, size_t input, size_t) { return input == 0; },
      .cases =
          [] {
            const Type type{.dtype = DType::kFloat64, .dims = {2, 3}};
            return std::vector<OpCase>{{.name = "two forms", .inputs = {type}, .build = [](const std::vector<Expr>& x) {
                                          return std::vector<Expr>{stable_gradient(x[0], neg(neg(x[0])))};
                                        }}};
          },
  };
  return op;
}

Expr stable_gradient(const Expr& plain, const Expr& stable) {
  return plain.same(stable) ? plain : apply(stable_gradient_op(), {plain, stable});
}

}  // namespace thtrain
