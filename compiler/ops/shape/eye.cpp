// Ones on a diagonal.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

std::vector<Type> infer_eye(const TypeArgs& args) {
  Type out{.dtype = args.props.get<DType>("dtype"), .dims = args.props.get<Dims>("dims")};
  args.require(out.rank() == 2, "rows and columns are asked for", "two lengths");
  for (const Dim& dim : out.dims) require_length(args, dim);
  return {out};
}

std::vector<Tensor> reference_eye(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  int64_t k = args.node.props.get<int64_t>("k");
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.dim(0); ++i)
      if (i + k >= 0 && i + k < out.dim(1)) out.at<T>({i, i + k}) = T(1);
  });
  return {out};
}

void lower_eye(kernel::StepBuilder& b) {
  using kernel::Term;
  const kernel::Operand out = parts_of(b.output());
  const DType dtype = out.type.dtype;
  const auto number = [&](int64_t value) {
    return is_float(dtype) ? kernel::constant(dtype, static_cast<double>(value)) : kernel::constant_int(dtype, value);
  };
  kernel::Nest nest(out.type.dims);
  nest.operation(3, sizeof(int64_t));
  const Term row = nest.axis(0), column = nest.axis(1);
  Term is_one = row + Term(b.node().props.get<int64_t>("k")) == column;
  if (out.type.rank() == 3) is_one = is_one && nest.axis(2) == Term(0);  // the real part
  nest.store(kernel::placed(out), nest.let("x", kernel::select(is_one, number(1), number(0))));
  kernel::schedule(b, nest, "eye", "out0[i, i + k] = 1");
}

std::vector<OpCase> cases_eye() {
  auto made = [](int64_t n, int64_t m, int64_t k, DType dtype) {
    return [=](const std::vector<Expr>&) { return std::vector{eye(n, m, k, dtype)}; };
  };
  return {
      {.name = "wide", .inputs = {}, .build = made(3, 5, 0, DType::kFloat64)},
      {.name = "tall", .inputs = {}, .build = made(6, 4, -2, DType::kFloat32)},
      {.name = "above", .inputs = {}, .build = made(3, 5, 4, DType::kInt8)},
      {.name = "outside", .inputs = {}, .build = made(2, 3, 9, DType::kBool)},
      {.name = "empty", .inputs = {}, .build = made(0, 3, 0, DType::kFloat64)},
      {.name = "complex", .inputs = {}, .build = made(1, 2, 0, DType::kComplex64)},
  };
}

}  // namespace

const Op& eye_op() {
  static const Op op{
      .name = "eye",
      .doc =
          "y[i, j] = 1 where j - i == k, else 0.\n"
          "Shapes: y has the lengths dims; no inputs.\n"
          "dtypes: any.\n"
          "Gradient: none.\n"
          "Edge cases: zeros where diagonal k lies outside.\n"
          "Example: of 2: [[1, 0], [0, 1]]",
      .infer = infer_eye,
      .reference = reference_eye,
      .lower = lower_eye,
      .foldable = false,
      .cost =
          [](const Node& node) {
            return Cost{0, node.types[0].elements() * Dim(static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .cases = cases_eye};
  return op;
}

Expr eye(const Length& n, std::optional<Length> m, int64_t k, std::optional<DType> dtype, std::source_location where) {
  Dims dims{n.dim(), m ? m->dim() : n.dim()};
  return apply(eye_op(), {}, {{"dims", dims}, {"k", k}, {"dtype", dtype.value_or(floatX())}}, where);
}

}  // namespace thtrain
