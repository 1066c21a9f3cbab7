// The length of an axis as a number.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static const Dim& dim_of(const Node& node) {
  return node.props.get<Dims>("dim").at(0);
}

const Op& length_op() {
  static const Op op{
      .name = "length",
      .doc =
          "The length dim as an int64 scalar. It has no inputs: what has that length is not computed.\n"
          "Shapes: y [].\n"
          "dtypes: gives int64.\n"
          "Gradient: none.\n"
          "Edge cases: none.\n"
          "Example: of axis 0 of a 3 by 2 matrix: 3",
      .infer =
          [](const TypeArgs& args) {
            args.require(args.props.get<Dims>("dim").size() == 1, "one length is asked for");
            return std::vector<Type>{{.dtype = DType::kInt64}};
          },
      .reference =
          [](const ReferenceArgs& args) {
            return std::vector<Tensor>{Tensor(dim_of(args.node).evaluate(args.length_of))};
          },
      .lower =
          [](kernel::StepBuilder& b) {
            kernel::Nest nest(Dims{});
            nest.store(kernel::placed(b.output()), b.length(dim_of(b.node())));
            kernel::schedule(b, nest, "length", "a length as a number");
          },
      .foldable = false,
      .symbolic = [](const Node& node, std::span<const Dim>) -> std::optional<Dim> { return dim_of(node); },
      .cases =
          [] {
            auto number = [](int64_t value) {
              return [value](const std::vector<Expr>&) {
                return std::vector{apply(length_op(), {}, {{"dim", Dims{Dim(value)}}})};
              };
            };
            return std::vector<OpCase>{{.name = "some", .inputs = {}, .build = number(7)},
                                       {.name = "none", .inputs = {}, .build = number(0)}};
          }};
  return op;
}

static Expr number_of(const Dim& dim, const std::source_location& where) {
  if (dim.is_known()) return make_constant(Tensor(dim.value()), where);
  return apply(length_op(), {}, {{"dim", Dims{dim}}}, where);
}

Expr length(const Operand& operand, int64_t axis) {
  Expr x = operand.expr();
  return number_of(x.dims()[axis_of(axis, x, "length", operand.where())], operand.where());
}

std::vector<Expr> shape(const Operand& operand) {
  Expr x = operand.expr();
  std::vector<Expr> out;
  for (const Dim& dim : x.dims()) out.push_back(number_of(dim, operand.where()));
  return out;
}

Dims shape_dims(const Operand& x) {
  return x.expr().dims();
}

Expr size(const Operand& x) {
  return number_of(product(x.expr().dims()), x.where());
}

}  // namespace thtrain
