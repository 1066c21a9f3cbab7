// The maximum of windows, its derivative, and what that is linear in.
#include <algorithm>
#include <cmath>

#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/pool_cases.h"
#include "compiler/ops/pool/pool_step.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain {
namespace {

// ---- types ---------------------------------------------------------------------------------------------------------

const Type& image_type(const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor, "the input must be a dense tensor");
  PoolWindows::of(args.props).require_fit(args, x.dims);
  return x;
}

std::vector<Type> infer_max(const TypeArgs& args) {
  const Type& x = image_type(args);
  if (is_bool(x.dtype) || is_complex(x.dtype))
    args.fail(str("is not defined for ", name_of(x.dtype)), "integers or floats");
  return {{.dtype = x.dtype, .dims = PoolWindows::of(args.props).pooled(x.dims)}};
}

const Type& float_image(const TypeArgs& args) {
  const Type& x = image_type(args);
  args.require(is_float(x.dtype), "the image must hold real floats");
  args.require(args.type(1).dtype == x.dtype, "the image and the other input differ in dtype");
  return x;
}

void require_lengths(const TypeArgs& args, const Dims& expected) {
  const Type& other = args.type(1);
  args.require(other.rank() == expected.size(), "the image and the other input differ in rank");
  for (size_t axis = 0; axis < expected.size(); ++axis)
    args.require_equal(other.dims[axis], expected[axis], str("the other input does not fit the image in axis ", axis));
}

std::vector<Type> infer_gradient_max_pool(const TypeArgs& args) {
  const Type& x = float_image(args);
  require_lengths(args, PoolWindows::of(args.props).pooled(x.dims));
  return {x};
}

std::vector<Type> infer_pick(const TypeArgs& args) {
  const Type& x = float_image(args);
  require_lengths(args, x.dims);
  return {{.dtype = x.dtype, .dims = PoolWindows::of(args.props).pooled(x.dims)}};
}

// ---- references ----------------------------------------------------------------------------------------------------

// The position of the maximum of window `at`: the first element that no other is greater than; the first NaN is
// greatest.
template <class T>
int64_t position_of_maximum(const PoolWindows& windows, const Tensor& x, const Shape& at) {
  const T* elements = x.data<T>();
  int64_t best = -1;
  windows.each_inside(x.shape(), at, [&](int64_t i) {
    if (best < 0 || (elements[best] == elements[best] && !(elements[i] <= elements[best]))) best = i;
  });
  return best;
}

// f(zero of the dtype of x, the position of the maximum in x, the number of the window), for each window.
template <class F>
void each_maximum(const ReferenceArgs& args, const Shape& pooled, F f) {
  const Tensor& x = args.inputs[0];
  const PoolWindows windows = PoolWindows::of(args.node);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>) {
      int64_t window = 0;
      for_each_index(pooled, [&](const Shape& at) { f(zero, position_of_maximum<T>(windows, x, at), window++); });
    }
  });
}

// Element `position` of the last input: of the image itself, or of what is picked from.
std::vector<Tensor> reference_pick(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  const Tensor& from = args.inputs.back();
  each_maximum(args, out.shape(), [&](auto zero, int64_t position, int64_t window) {
    using T = decltype(zero);
    out.data<T>()[window] = from.data<T>()[position];
  });
  return {out};
}

std::vector<Tensor> reference_gradient_max_pool(const ReferenceArgs& args) {
  const Tensor& dy = args.inputs[1];
  Tensor sums = Tensor::zeros(DType::kFloat64, args.shapes[0]);
  each_maximum(args, dy.shape(),
               [&](auto, int64_t position, int64_t window) { sums.data<double>()[position] += dy.as_double(window); });
  return {sums.cast(dy.dtype())};
}

// ---- errors --------------------------------------------------------------------------------------------------------

// No farther than the element that moves most.
std::vector<Tensor> error_max(const ErrorArgs& args) {
  const Expr moved = make_input({.dtype = DType::kFloat64, .dims = args.node.inputs[0].dims()}, "e");
  return {args.evaluate(apply(max_pool_op(), {moved}, args.node.props).node(), std::vector{args.errors[0]})[0]};
}

// f(window, position, i): for each window the position of its maximum, and each element i that may be it within the
// errors, itself too.
template <class F>
void each_candidate(const ErrorArgs& args, const Shape& pooled, F f) {
  const Tensor& x = args.inputs[0];
  const double* error = args.errors[0].data<double>();
  const PoolWindows windows = PoolWindows::of(args.node);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      int64_t window = 0;
      for_each_index(pooled, [&](const Shape& at) {
        const int64_t position = position_of_maximum<T>(windows, x, at);
        windows.each_inside(x.shape(), at, [&](int64_t i) {
          const double reach = error[i] + error[position], distance = x.as_double(position) - x.as_double(i);
          if (i == position || (reach > 0 && !(distance > reach))) f(window, position, i);
        });
        ++window;
      });
    }
  });
}

std::vector<Tensor> error_pick(const ErrorArgs& args) {
  const Tensor& g = args.inputs[1];
  const double* error = args.errors[1].data<double>();
  Tensor out = args.make_error();
  each_candidate(args, out.shape(), [&](int64_t window, int64_t position, int64_t i) {
    double& to = out.data<double>()[window];
    to = std::max(to, error[i] + (i == position ? 0 : std::abs(g.as_double(position) - g.as_double(i))));
  });
  return {out};
}

std::vector<Tensor> error_gradient(const ErrorArgs& args) {
  const Tensor& dy = args.inputs[1];
  const double* error = args.errors[1].data<double>();
  Tensor out = args.make_error();
  const int64_t sharing = PoolWindows::of(args.node).sharing();
  const double rounding = sharing == 1 ? 0 : static_cast<double>(sharing) * float_limits(dy.dtype()).unit;
  each_candidate(args, dy.shape(), [&](int64_t window, int64_t position, int64_t i) {
    const double size = std::abs(dy.as_double(window));
    out.data<double>()[i] += error[window] + rounding * size;
    if (i == position) return;
    out.data<double>()[i] += size;
    out.data<double>()[position] += size;
  });
  return {out};
}

// ---- derivatives ---------------------------------------------------------------------------------------------------

Expr made(const Op& op, const Node& node, const Expr& other) {
  return apply(op, {node.inputs[0], other}, node.props);
}

// The image decides which elements are moved, and has no derivative there.
bool is_second(const Node&, size_t input, size_t) {
  return input == 1;
}

Cost cost_max_pool(const Node& node) {
  Dim elements = node.inputs[0].type().elements(), moved = node.types[0].elements();
  for (const Expr& input : node.inputs) moved = moved + input.type().elements();
  return {.flops = elements, .bytes = moved * static_cast<int64_t>(size_of(node.types[0].dtype))};
}

std::vector<OpCase> cases(PoolInputs inputs, const Op& (*op)()) {
  return pool_cases(inputs, [op](const std::vector<Expr>& in, const PoolWindows& windows, const Dims&) {
    Props props;
    windows.add_to(props);
    return apply(op(), in, props);
  });
}

}  // namespace

const Op& max_pool_op() {
  static const Op op{
      .name = "max_pool",
      .doc =
          "y[a, j] = max over k of x[a, j stride - before + k], 0 <= k < window, for one to three last axes (j, k and "
          "the numbers are lists of as many).\n"
          "Shapes: x [A..., S...], y [A..., O...].\n"
          "dtypes: integers and floats.\n"
          "Gradient: dy at the first element of each window, in row-major order, that is the maximum, or at its first "
          "NaN.\n"
          "Edge cases: padding is not looked at. NaN where one is NaN; which of 0 and -0 is given is not said.\n"
          "Example: of 2 in [1, 4, 2, 3]: [4, 3]",
      .infer = infer_max,
      .reference = reference_pick,
      .error = error_max,
      .gradient =
          [](const GradientArgs& a) { return std::vector{made(max_pool_gradient_op(), a.node, a.cotangent())}; },
      .jvp = [](const JvpArgs& a) { return std::vector{made(max_pool_pick_op(), a.node, a.tangent())}; },
      .lower = lower_pool,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = takes_row_major,
      .cost = cost_max_pool,
      .cases = [] { return cases(PoolInputs::kImage, max_pool_op); }};
  return op;
}

const Op& max_pool_gradient_op() {
  static const Op op{.name = "max_pool_gradient",
                     .doc =
                         "dx of max_pool: 0, and the sum of dy over the windows whose maximum it is.\n"
                         "Shapes: dy as max_pool(x), dx as x.\n"
                         "dtypes: float32 or float64.\n"
                         "Gradient: linear in dy, with the derivative max_pool_pick; of x there is none.\n"
                         "Edge cases: of equal elements the first one gets dy.\n"
                         "Example: dy = [1, 1]: [0, 1, 0, 1]",
                     .infer = infer_gradient_max_pool,
                     .reference = reference_gradient_max_pool,
                     .error = error_gradient,
                     .gradient =
                         [](const GradientArgs& a) {
                           return std::vector{Expr(), made(max_pool_pick_op(), a.node, a.cotangent())};
                         },
                     .jvp = linear_jvp,
                     .lower = lower_pool,
                     .iterations = &kSameOpOfIterations,
                     .accepts_layout = takes_row_major,
                     .cost = cost_max_pool,
                     .connection = is_second,
                     .cases = [] { return cases(PoolInputs::kImageAndPooled, max_pool_gradient_op); }};
  return op;
}

const Op& max_pool_pick_op() {
  static const Op op{
      .name = "max_pool_pick",
      .doc =
          "y[a, j] = g[a, i] where x[a, i] is what max_pool takes for window j: the forward mode of max_pool.\n"
          "Shapes: g as x, y as max_pool(x).\n"
          "dtypes: float32 or float64.\n"
          "Gradient: linear in g, with the derivative max_pool_gradient; of x there is none.\n"
          "Edge cases: of equal elements the first one is taken.\n"
          "Example: of [5, 6, 7, 8]: [6, 8]",
      .infer = infer_pick,
      .reference = reference_pick,
      .error = error_pick,
      .gradient =
          [](const GradientArgs& a) {
            return std::vector{Expr(), made(max_pool_gradient_op(), a.node, a.cotangent())};
          },
      .jvp = linear_jvp,
      .lower = lower_pool,
      .iterations = &kSameOpOfIterations,
      .accepts_layout = takes_row_major,
      .cost = cost_max_pool,
      .connection = is_second,
      .cases = [] { return cases(PoolInputs::kTwoImages, max_pool_pick_op); }};
  return op;
}

}  // namespace thtrain
