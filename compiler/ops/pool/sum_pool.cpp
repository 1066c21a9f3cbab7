// Sums and averages of windows, and their derivative, which is linear.
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/pool_cases.h"
#include "compiler/ops/pool/pool_step.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain {
namespace {

const Type& float_type(const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor && is_float(x.dtype), "the input must hold real floats");
  divisor_of(args.props);
  return x;
}

std::vector<Type> infer(const TypeArgs& args) {
  const Type& x = float_type(args);
  const PoolWindows windows = PoolWindows::of(args.props);
  windows.require_fit(args, x.dims);
  return {{.dtype = x.dtype, .dims = windows.pooled(x.dims)}};
}

// The lengths of the image of a gradient.
Dims image_dims(const Type& dy, const Props& props) {
  const Dims& lengths = props.get<Dims>("lengths");
  Dims out = dy.dims;
  std::copy(lengths.begin(), lengths.end(), out.end() - static_cast<std::ptrdiff_t>(lengths.size()));
  return out;
}

std::vector<Type> infer_gradient_sum_pool(const TypeArgs& args) {
  const Type& dy = float_type(args);
  const PoolWindows windows = PoolWindows::of(args.props);
  args.require(args.props.get<Dims>("lengths").size() == windows.axes() && dy.rank() >= windows.axes(),
               "a length for each axis of the window is missing");
  const Dims image = image_dims(dy, args.props);
  windows.require_fit(args, image);
  const Dims pooled = windows.pooled(image);
  for (size_t axis = 0; axis < pooled.size(); ++axis)
    args.require_equal(dy.dims[axis], pooled[axis], str("the input does not fit the image in axis ", axis));
  return {{.dtype = dy.dtype, .dims = image}};
}

std::vector<Tensor> reference(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const PoolWindows windows = PoolWindows::of(args.node);
  Tensor out = Tensor::zeros(DType::kFloat64, args.shapes[0]);
  int64_t window = 0;
  for_each_index(out.shape(), [&](const Shape& at) {
    double total = 0;
    windows.each_inside(x.shape(), at, [&](int64_t i) { total += x.as_double(i); });
    out.data<double>()[window++] =
        total / static_cast<double>(divisor_of(windows, divisor_of(args.node.props), x.shape(), at));
  });
  return {out.cast(x.dtype())};
}

std::vector<Tensor> reference_gradient_sum_pool(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[0];
  const PoolWindows windows = PoolWindows::of(args.node);
  Tensor out = Tensor::zeros(DType::kFloat64, args.shapes[0]);
  int64_t window = 0;
  for_each_index(dy.shape(), [&](const Shape& at) {
    const double share =
        dy.as_double(window++) / static_cast<double>(divisor_of(windows, divisor_of(args.node.props), out.shape(), at));
    windows.each_inside(out.shape(), at, [&](int64_t i) { out.data<double>()[i] += share; });
  });
  return {out.cast(dy.dtype())};
}

std::vector<Tensor> error(const ErrorArgs& args) {
  const PoolWindows windows = PoolWindows::of(args.node);
  return multilinear_error(args, static_cast<double>(element_count(windows.window)) + 2);
}

std::vector<Expr> gradient(const GradientArgs& args) {
  const Dims& image = args.input(0).dims();
  Props props = args.node.props;
  const size_t axes = PoolWindows::of(props).axes();
  props.set("lengths", Dims(image.end() - static_cast<std::ptrdiff_t>(axes), image.end()));
  return {apply(sum_pool_gradient_op(), {args.cotangent()}, props)};
}

std::vector<Expr> gradient_of_gradient(const GradientArgs& args) {
  Props props;
  PoolWindows::of(args.node).add_to(props);
  props.set("divisor", args.node.props.get<std::string>("divisor"));
  return {apply(sum_pool_op(), {args.cotangent()}, props)};
}

Cost cost_sum_pool(const Node& node) {
  const Dim of_input = node.inputs[0].type().elements(), of_output = node.types[0].elements();
  return {.flops = of_input + of_output,
          .bytes = (of_input + of_output) * static_cast<int64_t>(size_of(node.types[0].dtype))};
}

std::vector<OpCase> cases(PoolInputs inputs) {
  std::vector<OpCase> out;
  for (PoolDivisor divisor : {PoolDivisor::kOne, PoolDivisor::kInside, PoolDivisor::kPadded}) {
    std::vector<OpCase> rows = pool_cases(
        inputs, [divisor, inputs](const std::vector<Expr>& in, const PoolWindows& windows, const Dims& image) {
          Props props;
          windows.add_to(props);
          props.set("divisor", std::string(name_of(divisor)));
          if (inputs == PoolInputs::kImage) return apply(sum_pool_op(), in, props);
          props.set("lengths", Dims(image.end() - static_cast<std::ptrdiff_t>(windows.axes()), image.end()));
          return apply(sum_pool_gradient_op(), in, props);
        });
    for (OpCase& row : rows) {
      row.name = str(name_of(divisor), " ", row.name);
      row.low = -0.5;  // to 2: the sums of windows do not cancel
      row.bound = 64;
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace

const Op& sum_pool_op() {
  static const Op op{.name = "sum_pool",
                     .doc =
                         "y[a, j] = sum over k of x[a, j stride - before + k], 0 <= k < window, for one to three last "
                         "axes (j, k and the numbers are lists of as many), divided by 1, by how many of these are "
                         "inside the image, or by how many are inside the padded image.\n"
                         "Shapes: x [A..., S...], y [A..., O...].\n"
                         "dtypes: float32 or float64.\n"
                         "Gradient: sum_pool_gradient.\n"
                         "Edge cases: padding is 0.\n"
                         "Example: mean of 2 in [1, 3, 2, 4]: [2, 3]",
                     .infer = infer,
                     .reference = reference,
                     .error = error,
                     .gradient = gradient,
                     .jvp = linear_jvp,
                     .lower = lower_pool,
                     .iterations = &kSameOpOfIterations,
                     .accepts_layout = takes_row_major,
                     .cost = cost_sum_pool,
                     .cases = [] { return cases(PoolInputs::kImage); }};
  return op;
}

const Op& sum_pool_gradient_op() {
  static const Op op{
      .name = "sum_pool_gradient",
      .doc =
          "dx of sum_pool: the sum of dy over the windows that an element is in, each divided as there.\n"
          "Shapes: dy as sum_pool(x), dx as x, whose pooled lengths are a property.\n"
          "dtypes: float32 or float64.\n"
          "Gradient: linear, with the derivative sum_pool.\n"
          "Edge cases: 0 where no window has the element.\n"
          "Example: dy = [1, 1], mean of 2: [0.5, 0.5, 0.5, 0.5]",
      .infer = infer_gradient_sum_pool,
      .reference = reference_gradient_sum_pool,
      .error = error,
      .gradient = gradient_of_gradient,
      .jvp = linear_jvp,
      .lower = lower_pool,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = takes_row_major,
      .cost = cost_sum_pool,
      .cases = [] { return cases(PoolInputs::kPooled); }};
  return op;
}

}  // namespace thtrain
