#include "compiler/ops/nnet/normalize.h"
#include "compiler/ops/iterations_rule.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/nnet/normalize_candidates.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// Inputs: x, its mean, its inverse deviation; perhaps scale and shift.
enum : size_t { kX, kMean, kInverse, kScale, kShift };

bool is_scaled(const Node& node) {
  return node.inputs.size() > kScale;
}

std::vector<Type> infer(const TypeArgs& args) {
  const Type& x = args.type(kX);
  args.require(x.kind == TypeKind::kTensor && is_float(x.dtype), "the values are not real floats",
               "float32 or float64");
  args.require(args.inputs.size() == 3 || args.inputs.size() == 5, "the moments, or the scale or shift, are missing",
               "3 or 5 inputs");
  const Ints axes = args.props.get<Ints>("axes");
  for (size_t i = kMean; i < args.inputs.size(); ++i) {
    const Type& p = args.type(i);
    args.require(p.dtype == x.dtype && p.rank() == x.rank(), str("input ", i, " has another dtype or number of axes"),
                 str(name_of(x.dtype), " with ", x.rank(), " axes"));
    for (size_t axis = 0; axis < x.rank(); ++axis)
      args.require_equal(p.dims[axis],
                         std::count(axes.begin(), axes.end(), static_cast<int64_t>(axis)) ? Dim(1) : x.dims[axis],
                         str("input ", i, " has another length of axis ", axis));
  }
  return {x};
}

std::vector<Tensor> reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[kX];
  const Ints axes = args.node.props.get<Ints>("axes");
  Tensor out = args.make_output();
  auto run = [&](auto zero, auto wide) {
    using T = decltype(zero);
    using Wide = decltype(wide);
    for_each_index(x.shape(), [&](const Shape& at) {
      Shape row = at;
      for (int64_t axis : axes) row[static_cast<size_t>(axis)] = 0;
      auto of_row = [&](size_t i) { return static_cast<Wide>(args.inputs[i].data<T>()[args.inputs[i].offset(row)]); };
      Wide y = (static_cast<Wide>(x.data<T>()[x.offset(at)]) - of_row(kMean)) * of_row(kInverse);
      if (is_scaled(args.node)) y = y * of_row(kScale) + of_row(kShift);
      out.data<T>()[out.offset(at)] = static_cast<T>(y);
    });
  };
  if (x.dtype() == DType::kFloat32)
    run(float(), double());
  else
    run(double(), static_cast<long double>(0));
  return {out};
}

Expr plain(std::span<const Expr> inputs) {
  const Expr away = inputs[kX] - inputs[kMean];
  if (inputs.size() <= kScale) return away * inputs[kInverse];
  return away * (inputs[kInverse] * inputs[kScale]) + inputs[kShift];
}

// Of y = (x - mean) r: dx = r (dy - mean(dy) - y mean(dy y)), where the mean over the axes is taken of dy and dy y.
std::vector<Expr> gradient(const GradientArgs& args) {
  const Ints axes = args.node.props.get<Ints>("axes");
  const Expr& d = args.cotangent();
  const Moments moments{.mean = args.input(kMean), .squares = {}, .inverse_deviation = args.input(kInverse)};
  const Expr y = is_scaled(args.node) ? normalized(args.input(kX), moments, axes) : args.outputs[0];
  const Expr away = d - mean(d, axes, true) - y * mean(d * y, axes, true);
  if (!is_scaled(args.node)) return {moments.inverse_deviation * away, {}, {}};
  return {(moments.inverse_deviation * args.input(kScale)) * away, {}, {}, sum(d * y, axes, true), sum(d, axes, true)};
}

void lower(kernel::StepBuilder& b) {
  Graph body;
  for (const Expr& input : b.node().inputs) body.inputs.push_back(make_input(input.type(), "x"));
  body.outputs = {plain(body.inputs)};
  lower_elementwise(b, body.inputs, body.outputs);
}

std::vector<OpCase> cases() {
  struct Row {
    const char* name;
    Type x;
    Ints axes;
    bool scaled;
  };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  std::vector<OpCase> out;
  for (const Row& row : std::vector<Row>{{"rows", f64({7, 3}), {0}, false},
                                         {"scaled_rows", f64({7, 3}), {0}, true},
                                         {"many_rows", f32({40, 19}), {0}, true},
                                         {"channels", f64({2, 3, 4, 2}), {0, 2, 3}, true},
                                         {"wide_channels", f32({3, 4, 5, 13}), {0, 2, 3}, true},
                                         {"last", f32({5, 37}), {1}, false},
                                         {"last_two", f64({2, 3, 4}), {1, 2}, false},
                                         {"all", f64({9}), {0}, false},
                                         {"one", f64({1, 4}), {0}, true},
                                         {"nothing", f64({3, 0}), {0}, true}}) {
    std::vector<Type> inputs{row.x};
    Dims kept = row.x.dims;
    for (int64_t axis : row.axes) kept[static_cast<size_t>(axis)] = 1;
    for (int i = 0; row.scaled && i < 2; ++i) inputs.push_back({.dtype = row.x.dtype, .dims = kept});
    out.push_back({.name = row.name,
                   .inputs = std::move(inputs),
                   .build =
                       [row](const std::vector<Expr>& in) {
                         const Moments moments = moments_of(in[0], row.axes, 0.1);
                         return std::vector{row.scaled ? normalized(in[0], moments, row.axes, in[1], in[2])
                                                       : normalized(in[0], moments, row.axes)};
                       },
                   .bound = 32});
  }
  return out;
}

}  // namespace

const Op& normalize_op() {
  static const Op op{
      .name = "normalize",
      .doc =
          "y = (x - mean) r, or y = scale (x - mean) r + shift, with the mean of x over axes and r = 1 / sqrt(variance "
          "+ epsilon), which are inputs.\n"
          "Shapes: the other inputs have the length 1 along axes, else the lengths of x.\n"
          "dtypes: float32 or float64.\n"
          "Gradient: with respect to x that of the whole, and the moments have none: dx = scale r (dy - mean(dy) - z "
          "mean(dy z)), z = (x - mean) r; dscale = sum(dy z), dshift = sum(dy).\n"
          "Edge cases: NaN and infinities pass as the expression says.\n"
          "Example: of [1, 3]: [-1, 1]\n"
          "Source: S. Ioffe, C. Szegedy, Batch Normalization, 2015, algorithm 1.",
      .infer = infer,
      .reference = reference,
      .gradient = gradient,
      .lower = [](kernel::StepBuilder& b) { lower_chosen_normalize(b, lower); },
      .access = [](const Node&, size_t) { return Access::kElement; },
      .expand = [](const Node&, std::span<const Expr> inputs) { return plain(inputs); },
      .iterations = &kLaterAxesOfIterations,
      .aliases = {{.output = 0, .input = 0}},
      .cost =
          [](const Node& node) {
            const Dim n = node.types[0].elements();
            return Cost{n * Dim(is_scaled(node) ? 4 : 2),
                        n * Dim(2 * static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .connection = [](const Node&, size_t input, size_t) { return input != kMean && input != kInverse; },
      .cases = cases};
  return op;
}

Expr count_as(DType dtype, const Dim& count) {
  if (count.is_known()) return make_constant(Tensor(count.value()).cast(dtype));
  return cast(apply(length_op(), {}, {{"dim", Dims{count}}}), dtype);
}

Moments moments_of(const Expr& x, const Ints& axes, double epsilon) {
  Dim count = 1;
  for (int64_t axis : axes) count = count * x.dims()[static_cast<size_t>(axis)];
  Moments out;
  out.mean = mean(x, axes, true);
  out.squares = sum(sqr(x - out.mean), axes, true);
  out.inverse_deviation = 1 / sqrt(out.squares / count_as(x.dtype(), count) + epsilon);
  return out;
}

Expr normalized(const Expr& x, const Moments& moments, const Ints& axes) {
  return apply(normalize_op(), {x, moments.mean, moments.inverse_deviation}, {{"axes", axes}});
}

Expr normalized(const Expr& x, const Moments& moments, const Ints& axes, const Expr& scale, const Expr& shift) {
  return apply(normalize_op(), {x, moments.mean, moments.inverse_deviation, scale, shift}, {{"axes", axes}});
}

}  // namespace thtrain
