// Values computed by stored elements, and derived by all elements.
#include "compiler/ir/layout.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {
namespace {

std::vector<Type> infer_regular(const TypeArgs& args) {
  const Type &value = args.type(0), &whole = args.type(1);
  args.require(value.dtype == whole.dtype && value.rank() == whole.rank(), "the two forms have different types",
               "one dtype and as many axes");
  for (size_t axis = 0; axis < value.rank(); ++axis)
    args.require_equal(value.dims[axis], whole.dims[axis], "the two forms have different lengths");
  return {value};
}

std::vector<OpCase> cases_regular() {
  return {{.name = "f64",
           .inputs = {{.dtype = DType::kFloat64, .dims = {2, 3}}, {.dtype = DType::kFloat64, .dims = {2, 3}}},
           .build = [](const std::vector<Expr>& in) { return std::vector{regular_gradient(in[0], in[1])}; },
           .smooth = false}};  // its derivative is that of another value
}

}  // namespace

const Op& regular_gradient_op() {
  static const Op op{.name = "regular_gradient",
                     .doc =
                         "A value that is computed by the stored elements of a sparse matrix, with the derivatives of "
                         "`whole`, the same "
                         "value by all elements. A view of the first; `whole` is not computed.\n"
                         "Shapes: y as both inputs.\n"
                         "dtypes: any, both the same.\n"
                         "Gradient: that of `whole` alone.\n"
                         "Edge cases: that both are the same value is not checked.",
                     .called = [](const Props&) { return std::string("regular"); },
                     .infer = infer_regular,
                     .reference = [](const ReferenceArgs& args) { return std::vector<Tensor>{args.inputs[0]}; },
                     .error = passed_error,
                     .gradient =
                         [](const GradientArgs& args) {
                           return std::vector{Expr(), args.cotangent()};
                         },
                     .jvp = [](const JvpArgs& args) { return std::vector{args.tangent(1)}; },
                     .only_derivatives = true,
                     .aliases = {{.output = 0, .input = 0, .view = same_layout}},
                     .connection = [](const Node&, size_t input, size_t) { return input == 1; },
                     .cases = cases_regular};
  return op;
}

Expr regular_gradient(const Expr& value, const Expr& whole) {
  return apply(regular_gradient_op(), {value, whole});
}

}  // namespace thtrain
