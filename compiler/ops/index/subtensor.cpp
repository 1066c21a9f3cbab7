// Reading a rectangular part of a value.
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/strided_slice.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

std::vector<Type> infer_subtensor(const TypeArgs& args) {
  const Type& x = args.type(0);
  return {{.dtype = x.dtype, .dims = slice_dims(args, x, StridedSlice::of(args.props), 1)}};
}

std::vector<Tensor> reference_subtensor(const ReferenceArgs& args) {
  return {slice_view(args, StridedSlice::of(args.node), args.inputs[0], 1).copy()};
}

// The same part of zeros, with the cotangent added.
std::vector<Expr> gradient_subtensor(const GradientArgs& args) {
  std::vector<Expr> inputs = args.node.inputs;
  std::vector<Expr> out(inputs.size());
  inputs[0] = zeros_like(args.input(0));
  inputs.insert(inputs.begin() + 1, args.cotangent());
  Props props = args.node.props;
  props.set("set", false);
  out[0] = apply(inc_subtensor_op(), std::move(inputs), std::move(props));
  return out;
}

std::optional<Layout> view(const LayoutArgs& args) {
  StridedSlice slice = StridedSlice::of(args.node);
  if (!slice.given.empty()) return std::nullopt;
  return slice_layout(slice, args.input);
}

void lower_subtensor(kernel::StepBuilder& b) {
  const SliceWindow window = slice_window(b, b.node(), StridedSlice::of(b.node()), b.input(0), 1);
  move_kernel(b, kernel::placed(bits_of(window.part), window.first), kernel::placed(bits_of(b.output())), "subtensor",
              "out0 = a part of in0 that starts where the data says");
}

std::vector<OpCase> cases_subtensor() {
  auto part = [](std::vector<Index> indices) {
    return [indices](const std::vector<Expr>& in) { return std::vector{subtensor(in[0], indices)}; };
  };
  auto from_input = [](const std::vector<Expr>& in) { return std::vector{subtensor(in[0], {all(), take(in[1], 0)})}; };
  auto rows_from = [](const std::vector<Expr>& in) { return std::vector{rows(in[0], take(in[1], 0), 3)}; };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto i64 = [](Dims dims) { return Type{.dtype = DType::kInt64, .dims = std::move(dims)}; };
  return {
      {.name = "row", .inputs = {f64({5, 3})}, .build = part({-2})},
      {.name = "element", .inputs = {f32({5, 3})}, .build = part({1, -1})},
      {.name = "middle", .inputs = {f64({7, 4})}, .build = part({Slice{1, -1}, Slice{.start = 2}})},
      {.name = "steps", .inputs = {f32({9, 8})}, .build = part({Slice{.step = 3}, Slice{7, 1, -2}})},
      {.name = "reversed", .inputs = {i64({6})}, .build = part({Slice{.step = -1}})},
      {.name = "column", .inputs = {f64({5, 3})}, .build = part({all(), 1})},
      {.name = "nothing", .inputs = {f64({5, 3})}, .build = part({Slice{4, 2}})},
      {.name = "of_nothing", .inputs = {f32({0, 3})}, .build = part({Slice{.step = -2}, 1})},
      {.name = "given_index", .inputs = {f64({5, 7}), i64({2})}, .build = from_input, .int_low = -5},
      {.name = "given_rows", .inputs = {f32({9, 11}), i64({2})}, .build = rows_from},
      {.name = "given_rows_of_bools", .inputs = {{.dtype = DType::kBool, .dims = {9}}, i64({2})}, .build = rows_from},
  };
}

}  // namespace

const Op& subtensor_op() {
  static const Op op{
      .name = "subtensor",
      .doc =
          "y[i, ...] = x[starts + i * steps, ...]: counts elements along each axis; dropped axes are not in y. A view, "
          "but a copy where a start is given by an input.\n"
          "Shapes: counts, which NumPy's rules for slices gave. Axes in `inside` are checked to hold their part, now "
          "or when a call begins; axes in `given` take their start from an input and are checked when it is read.\n"
          "dtypes: any.\n"
          "Gradient: the cotangent in the same part of zeros.\n"
          "Edge cases: slices end at the value's ends as in NumPy; an integer outside its axis is an error.\n"
          "Example: x[1:3] of [5, 6, 7, 8]: [6, 7]",
      .infer = infer_subtensor,
      .reference = reference_subtensor,
      .error = moved_error,
      .gradient = gradient_subtensor,
      .jvp = linear_jvp,
      .lower = lower_subtensor,
      .iterations = &kSliceOfIterations,
      .aliases = {{.output = 0, .input = 0, .view = view}},
      .connection = [](const Node&, size_t input, size_t) { return input == 0; },
      .cases = cases_subtensor};
  return op;
}

}  // namespace thtrain
