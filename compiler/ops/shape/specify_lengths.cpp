#include "compiler/ops/shape/specify_lengths.h"

#include "compiler/ir/op.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// A least number of rows is one of the first axis.
static bool has_no_least(const Node& node, const std::vector<bool>&) {
  return !node.props.has("least") && !node.props.has("equal");
}
static const IterationsRule kLengthsOfIterations{
    .applies = has_no_least, .all = kLaterAxesThatMayFail.all, .may_fail = true};

const Op& specify_lengths_op() {
  static const Op op{
      .name = "specify_lengths",
      .doc =
          "x under the lengths `dims`, the first at least `least`; those of `equal` agree in pairs. A view.\n"
          "Shapes: as x; a call checks what cannot be proved.\n"
          "dtypes: any.\n"
          "Gradient: the cotangent.\n"
          "Edge cases: an error where a length differs.\n"
          "Example: x has 10 columns",
      .called =
          [](const Props& props) {
            const std::string whose = props.get_or<std::string>("whose", {});
            return whose.empty() ? std::string("specify_lengths") : whose;
          },
      .infer =
          [](const TypeArgs& a) {
            const Dims& dims = a.props.get<Dims>("dims");
            a.require(dims.size() == a.type(0).rank(), "the number of axes differs", str(dims.size(), " axes"));
            if (a.props.has("least")) {
              const std::string whose = a.props.get_or<std::string>("whose", {});
              a.require(a.props.get<Dims>("least").size() == 1 && !dims.empty(), "there is one least number of rows");
              const size_t before = a.checks ? a.checks->size() : 0;
              require_at_most(a, a.props.get<Dims>("least")[0], a.type(0).dims[0], whose);
              if (a.checks && a.checks->size() > before) a.checks->back().what = whose;
            }
            for (size_t i = 0; i < dims.size(); ++i)
              a.require_equal(a.type(0).dims[i], dims[i], str("axis ", i, " has another length"));
            const Dims equal = a.props.get_or<Dims>("equal", {});
            for (size_t i = 0; i + 1 < equal.size(); i += 2)
              a.require_equal(equal[i], equal[i + 1], "the lengths of two matrices differ");
            return std::vector<Type>{{.dtype = a.type(0).dtype, .dims = dims}};
          },
      .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.inputs[0]}; },
      .error = moved_error,
      .gradient =
          [](const GradientArgs& a) { return std::vector<Expr>{specify_lengths(a.cotangent(), a.input(0).dims())}; },
      .jvp = linear_jvp,
      .iterations = &kLengthsOfIterations,
      .aliases = {{.output = 0, .input = 0, .view = same_layout}},
      .cases =
          [] {
            return std::vector<OpCase>{
                {.name = "known",
                 .inputs = {{.dtype = DType::kFloat64, .dims = {2, 3}}},
                 .build = [](const std::vector<Expr>& x) {
                   return std::vector<Expr>{apply(specify_lengths_op(), {x[0]}, {{"dims", Dims{2, 3}}})};
                 }}};
          },
  };
  return op;
}

Expr specify_lengths(const Operand& x, const Dims& lengths, const std::string& whose) {
  Expr value = x.expr();
  if (value.dims() == lengths) return value;
  Props props{{"dims", lengths}};
  if (!whose.empty()) props.set("whose", whose);
  return apply(specify_lengths_op(), {value}, std::move(props), x.where());
}

Expr require_rows(const Operand& operand, const Dim& least, const std::string& what) {
  const Expr x = operand.expr();
  if (x.dims()[0].is_at_least(least)) return x;
  return apply(specify_lengths_op(), {x}, {{"dims", x.dims()}, {"least", Dims{least}}, {"whose", what}},
               operand.where());
}

}  // namespace thtrain
