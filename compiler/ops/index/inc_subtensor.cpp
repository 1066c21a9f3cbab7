// Writing a rectangular part of a value.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/index/strided_slice.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {

namespace {

bool is_set(const Node& node) {
  return node.props.get<bool>("set");
}

std::vector<Type> infer_inc_subtensor(const TypeArgs& args) {
  const Type &x = args.type(0), &y = args.type(1);
  bool set = args.props.get<bool>("set");
  args.require(y.dtype == x.dtype, "the new elements have another dtype", std::string(name_of(x.dtype)));
  args.require(set || !is_bool(x.dtype), "bools cannot be added to", "numbers");
  Dims part = slice_dims(args, x, StridedSlice::of(args.props), 2);
  args.require(y.rank() == part.size(), "the new elements have another number of axes", str(part.size(), " axes"));
  for (size_t i = 0; i < part.size(); ++i)
    args.require_equal(y.dims[i], part[i], str("the new elements differ from the part in axis ", i));
  return {x};
}

std::vector<Tensor> reference_inc_subtensor(const ReferenceArgs& args) {
  Tensor out = args.inputs[0].copy();
  Tensor part = slice_view(args, StridedSlice::of(args.node), out, 2);
  const Tensor& y = args.inputs[1];
  require_same_shape(args.node, part.shape(), y.shape(), "the new elements have another shape than the part");
  if (is_set(args.node)) {
    part.assign(y);
    return {out};
  }
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(part.shape(), [&](const Shape& index) {
      T& element = part.data<T>()[part.offset(index)];
      element = wrapping_add(element, y.data<T>()[y.offset(index)]);
    });
  });
  return {out};
}

// d/dx is the cotangent (without the part, where that was replaced), d/dy is its part.
std::vector<Expr> gradient_inc_subtensor(const GradientArgs& args) {
  std::vector<Expr> out(args.node.inputs.size());
  std::vector<Expr> inputs = args.node.inputs;
  inputs.erase(inputs.begin() + 1);
  inputs[0] = args.cotangent();
  Props props;
  StridedSlice::of(args.node).add_to(props);
  Expr part = apply(subtensor_op(), std::move(inputs), std::move(props));
  out[0] = is_set(args.node) ? set_subtensor(part, zeros_like(part)) : args.cotangent();
  out[1] = part;
  return out;
}

void write_inc_subtensor(kernel::StepBuilder& b, const Node& node, const Elements& y) {
  if (!b.overwrites(0)) copy_kernel(b, 0, "out0 = in0, before a part of it is written", true);
  const bool set = is_set(node);
  const SliceWindow window = slice_window(b, node, StridedSlice::of(node), b.output(), 2);
  const kernel::Location part = kernel::placed(window.part, window.first);
  kernel::Nest nest(window.part.type.dims);
  kernel::Term value = set ? kernel::Term() : nest.load("before", part);
  value = set ? y.add_to(nest) : nest.let("sum", value + y.add_to(nest));
  nest.store(part, value);
  nest.work = y.work;
  kernel::schedule(b, nest, y.name + (set ? "set_subtensor" : "inc_subtensor"),
                   str(set ? "a part of out0 = " : "a part of out0 += ", y.text));
}

std::vector<OpCase> cases_inc_subtensor() {
  auto set = [](std::vector<Index> indices) {
    return
        [indices](const std::vector<Expr>& in) { return std::vector{set_subtensor(subtensor(in[0], indices), in[1])}; };
  };
  auto inc = [](std::vector<Index> indices) {
    return
        [indices](const std::vector<Expr>& in) { return std::vector{inc_subtensor(subtensor(in[0], indices), in[1])}; };
  };
  auto inc_given = [](const std::vector<Expr>& in) {
    return std::vector{inc_subtensor(rows(in[0], take(in[1], 1), 3), in[2])};
  };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto i64 = [](Dims dims) { return Type{.dtype = DType::kInt64, .dims = std::move(dims)}; };
  return {
      {.name = "set_row", .inputs = {f64({5, 3}), f64({3})}, .build = set({-2})},
      {.name = "set_element", .inputs = {f32({5, 3}), f32({})}, .build = set({1, 2})},
      {.name = "set_middle", .inputs = {f32({5, 13}), f32({3, 11})}, .build = set({Slice{1, -1}, Slice{1, -1}})},
      {.name = "set_by_scalar", .inputs = {f64({4, 9}), f64({})}, .build = set({all(), Slice{.start = 2}})},
      {.name = "set_reversed", .inputs = {i64({6}), i64({3})}, .build = set({Slice{.step = -2}})},
      {.name = "set_nothing", .inputs = {f64({5, 3}), f64({0, 3})}, .build = set({Slice{4, 2}})},
      {.name = "set_bools",
       .inputs = {{.dtype = DType::kBool, .dims = {4, 3}}, {.dtype = DType::kBool, .dims = {3}}},
       .build = set({Slice{.step = 2}})},
      {.name = "inc_column", .inputs = {f64({5, 3}), f64({5})}, .build = inc({all(), 1})},
      {.name = "inc_by_row", .inputs = {f32({5, 9}), f32({9})}, .build = inc({Slice{.start = 1}})},
      {.name = "inc_ints",
       .inputs = {{.dtype = DType::kInt8, .dims = {7}}, {.dtype = DType::kInt8, .dims = {4}}},
       .build = inc({Slice{.step = 2}})},
      {.name = "inc_given_rows", .inputs = {f32({9, 10}), i64({2}), f32({3, 10})}, .build = inc_given},
      {.name = "inc_complex",
       .inputs = {{.dtype = DType::kComplex128, .dims = {5}}, {.dtype = DType::kComplex128, .dims = {2}}},
       .build = inc({Slice{3, 1, -1}})},
  };
}

}  // namespace

const Op& inc_subtensor_op() {
  static const Op op{
      .name = "inc_subtensor",
      .doc =
          "x with one part of it (as in subtensor) replaced by y (set) or increased by y. Writes over x where nobody "
          "else reads it; the elements of the part are written once each.\n"
          "Shapes: y has the shape of the part.\n"
          "dtypes: y has the dtype of x; bools can only be set.\n"
          "Gradient: of x the cotangent, 0 in the part where that was set; of y the part of the cotangent.\n"
          "Edge cases: an empty part leaves x as it is.\n"
          "Example: [5, 6, 7] with 1 added to the last: [5, 6, 8]",
      .infer = infer_inc_subtensor,
      .reference = reference_inc_subtensor,
      .error =
          [](const ErrorArgs& a) { return a.node.props.get<bool>("set") ? moved_error(a) : multilinear_error(a, 1); },
      .gradient = gradient_inc_subtensor,
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { write_inc_subtensor(b, b.node(), given_elements(b)); },
      .scatter = write_inc_subtensor,
      .iterations = &kSliceOfIterations,
      .aliases = {{.output = 0, .input = 0}},
      .cost = scatter_cost,
      .connection = [](const Node&, size_t input, size_t) { return input <= 1; },
      .cases = cases_inc_subtensor};
  return op;
}

}  // namespace thtrain
