// Ones on a diagonal.
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
  const kernel::Operand& out = b.output();
  DType dtype = out.type.dtype;
  if (is_complex(dtype)) return b.call_reference();
  kernel::Term k = b.node().props.get<int64_t>("k");
  auto number = [&](int64_t value) {
    return is_float(dtype) ? kernel::constant(dtype, static_cast<double>(value)) : kernel::constant_int(dtype, value);
  };
  kernel::Term zero = number(0), one = number(1);
  kernel::Term columns = b.length(out.type.dims[1]);
  b.code().loop("i", b.begin(), b.end(), 1, kernel::LoopMark::kSequential, [&](kernel::Term i) {
    b.code().loop("j", columns, [&](kernel::Term j) { b.store(out, b.index_of(out, {i, j}), zero); });
    kernel::Term j = b.code().let("diagonal", i + k);
    b.code().if_(j >= kernel::Term(0) && j < columns, [&] { b.store(out, b.index_of(out, {i, j}), one); });
  });
  b.finish_kernel("eye", "out0[i, i + k] = 1", out.type.dims[0], grain_of(out.type.dims[1]));
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
      .doc = "y[i, j] = 1 where j - i == k, else 0. Shapes: y has the lengths dims. dtypes: any. No inputs.",
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
