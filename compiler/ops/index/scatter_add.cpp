// Adding to elements of an axis that integers name, and replacing them.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/index/take_axes.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

bool is_set(const Op& op) {
  return &op == &scatter_set_op();
}

std::vector<Type> infer_scatter_add(const TypeArgs& args) {
  const Type &x = args.type(0), &indices = args.type(1), &y = args.type(2);
  const std::string written = is_set(args.op) ? "new" : "added";
  args.require(is_int(indices.dtype), "the indices are not integers", "an integer dtype");
  args.require(is_set(args.op) || !is_bool(x.dtype), "bools cannot be added to", "numbers");
  args.require(y.dtype == x.dtype, str("the ", written, " value has another dtype"), std::string(name_of(x.dtype)));
  int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(x.rank()), "there is no such axis",
               str("axes from 0 to ", x.rank(), " (without)"));
  const Node& places = args.inputs[1].node();
  const bool is_mask = places.op == &nonzero_op();
  if (is_mask && places.props.get_or<int64_t>("axes", 1) == 1)
    args.require_equal(x.dims[static_cast<size_t>(axis)], places.inputs[0].dims()[0], "the mask has another length");
  Dims dims = TakeAxes(x.dims, indices.dims, axis).dims();
  args.require(y.rank() == dims.size(), str("the ", written, " value has another number of axes"),
               str(dims.size(), " axes"));
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool counts = is_mask && static_cast<int64_t>(i) == axis;
    args.require_equal(y.dims[i], dims[i],
                       counts
                           ? str("the number of ", written, " values is not that of the elements that the mask names")
                           : str("the ", written, " value differs from the taken elements in axis ", i));
  }
  return {x};
}

std::vector<Tensor> reference_scatter_add(const ReferenceArgs& args) {
  const Tensor &indices = args.inputs[1], &y = args.inputs[2];
  Tensor out = args.inputs[0].copy();
  TakeAxes axes(args.node);
  Shape expected = out.shape();
  expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(axes.axis));
  expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(axes.axis), indices.shape().begin(),
                  indices.shape().end());
  require_same_shape(args.node, expected, y.shape(), "what is written has another shape than the taken elements");
  axes.check_all(args.node, indices, out.dim(axes.axis));
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(y.shape(), [&](const Shape& at) {
      T& element = out.data<T>()[out.offset(axes.source_of(args.node, at, indices, out.dim(axes.axis)))];
      const T value = y.data<T>()[y.offset(at)];
      element = is_set(*args.node.op) ? value : wrapping_add(element, value);
    });
  });
  return {out};
}

// Turns of different indices may write one element; along the other axes each writes an element of its own.
void write_scatter_add(kernel::StepBuilder& b, const Node& node, const Elements& added) {
  const TakeAxes axes(node);
  const kernel::Operand out = parts_of(b.output());
  const kernel::Operand& indices = b.input(1);
  const Dim& length = out.type.dims[axes.axis];
  const bool set = is_set(*node.op);
  const IndexCheck check = axes.check(node.op->name);
  check_kernel(b, node, 1, check, length);
  if (!b.overwrites(0))
    copy_kernel(b, 0, str("out0 = in0, before some of it is ", set ? "replaced" : "added to"), true);

  std::vector<kernel::NestAxis> loops;
  kernel::Place index{indices, Dims(added.dims.size(), Dim(0))}, target{out, index.strides};
  for (size_t i = 0; i < added.dims.size(); ++i) {
    const bool is_named = i >= axes.axis && i < axes.end, is_single = added.dims[i].is(1);
    loops.push_back({added.dims[i], is_named ? kernel::AxisKind::kSequential : kernel::AxisKind::kParallel});
    if (is_single) continue;
    if (is_named)
      index.strides[i] = indices.layout.strides[i - axes.axis];
    else
      target.strides[i] = out.layout.strides[i < axes.axis ? i : i - axes.end + axes.axis + 1];
  }
  kernel::Nest nest(std::move(loops));
  const kernel::Term position = nest.position(index_at(node, check, index, length, false));
  target = target.at(position, out.layout.strides[axes.axis]);
  const kernel::Term before = set ? kernel::Term() : nest.load("before", target), value = added.add_to(nest);
  nest.store(target, set ? value : nest.let("sum", before + value));
  nest.work = added.work;
  kernel::schedule(
      b, nest, added.name + node.op->name,
      str("elements of out0 that in1 names ", set ? "= " : "+= ", added.text, ", one index after the other"));
}

const ScatterRule rule_scatter_add{2, write_scatter_add};

std::vector<OpCase> cases_scatter_add() {
  auto added = [](int64_t axis) {
    return [axis](const std::vector<Expr>& in) { return std::vector{scatter_add(in[0], in[1], in[2], axis)}; };
  };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto i64 = [](Dims dims) { return Type{.dtype = DType::kInt64, .dims = std::move(dims)}; };
  return {
      {.name = "rows", .inputs = {f64({4, 3}), i64({7}), f64({7, 3})}, .build = added(0), .int_low = -4},
      {.name = "wide_rows", .inputs = {f32({4, 21}), i64({9}), f32({9, 21})}, .build = added(0), .int_low = -4},
      {.name = "columns", .inputs = {f32({3, 5}), i64({9}), f32({3, 9})}, .build = added(1), .int_low = -4},
      {.name = "middle", .inputs = {f64({2, 5, 3}), i64({2, 4}), f64({2, 2, 4, 3})}, .build = added(1)},
      {.name = "elements", .inputs = {f64({5}), i64({8}), f64({8})}, .build = added(0)},
      {.name = "one", .inputs = {f64({5, 3}), i64({}), f64({3})}, .build = added(0)},
      {.name = "by_row", .inputs = {f64({5, 3}), i64({6}), f64({3})}, .build = added(0)},
      {.name = "none", .inputs = {f64({5, 3}), i64({0}), f64({0, 3})}, .build = added(0)},
      {.name = "ints",
       .inputs = {{.dtype = DType::kUInt8, .dims = {5}}, i64({7}), {.dtype = DType::kUInt8, .dims = {7}}},
       .build = added(0)},
  };
}

std::vector<OpCase> set_cases() {
  auto replaced = [](std::vector<int64_t> places, int64_t axis) {
    return [places, axis](const std::vector<Expr>& in) {
      const Expr indices = make_constant(Tensor::of(places, {static_cast<int64_t>(places.size())}));
      return std::vector{apply(scatter_set_op(), {in[0], indices, in[1]}, {{"axis", axis}})};
    };
  };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto bools = [](Dims dims) { return Type{.dtype = DType::kBool, .dims = std::move(dims)}; };
  return {
      {.name = "rows", .inputs = {f64({4, 3}), f64({2, 3})}, .build = replaced({3, 0}, 0)},
      {.name = "wide_rows", .inputs = {f32({4, 21}), f32({3, 21})}, .build = replaced({1, 0, -2}, 0)},
      {.name = "columns", .inputs = {f32({3, 5}), f32({3, 2})}, .build = replaced({3, 1}, 1)},
      {.name = "elements", .inputs = {f64({5}), f64({3})}, .build = replaced({0, 2, 3}, 0)},
      {.name = "none", .inputs = {f64({5, 3}), f64({0, 3})}, .build = replaced({}, 0)},
      {.name = "bools", .inputs = {bools({5}), bools({2})}, .build = replaced({1, 4}, 0)},
  };
}

}  // namespace

const Op& scatter_add_op() {
  static const Op op{
      .name = "scatter_add",
      .doc =
          "x with y[a, i, c] added to x[a, indices[i], c], for one index after the other in row-major order.\n"
          "Shapes: x [A, n, C], indices [I], y [A, I, C]. Negative indices count from the end; others outside the\n"
          "axis fail before anything is written. dtypes: x and y the same numbers, indices any integer.\n"
          "Gradient: of x the cotangent, of y its elements at the indices; indices have none.\n"
          "An element that is named several times is added to in order, in its own dtype: the same bits every time.",
      .infer = infer_scatter_add,
      .reference = reference_scatter_add,
      .error = [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(a.inputs[1].size()) + 1); },
      .gradient =
          [](const GradientArgs& args) {
            int64_t axis = args.node.props.get<int64_t>("axis");
            return std::vector{args.cotangent(), Expr(), take(args.cotangent(), args.input(1), axis)};
          },
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { write_scatter_add(b, b.node(), elements_of_input(b, 2)); },
      .scatter = &rule_scatter_add,
      .aliases = {{.output = 0, .input = 0}},
      .cost = scatter_cost,
      .connection = is_no_index,
      .cases = cases_scatter_add};
  return op;
}

const Op& scatter_set_op() {
  static const Op op{
      .name = "scatter_set",
      .doc =
          "x with x[a, indices[i], c] replaced by y[a, i, c]; the indices are different elements of the axis.\n"
          "Shapes: x [A, n, C], indices [I], y [A, I, C]. Negative indices count from the end; others outside the\n"
          "axis fail before anything is written. dtypes: x and y the same, indices any integer.\n"
          "Gradient: of x the cotangent with 0 at the indices, of y its elements there; indices have none.\n"
          "Made of masks, which name an element once.",
      .infer = infer_scatter_add,
      .reference = reference_scatter_add,
      .error = moved_error,
      .gradient =
          [](const GradientArgs& args) {
            int64_t axis = args.node.props.get<int64_t>("axis");
            const Expr y = take(args.cotangent(), args.input(1), axis);
            const Expr x =
                apply(scatter_set_op(), {args.cotangent(), args.input(1), zeros_like(args.input(2))}, args.node.props);
            return std::vector{x, Expr(), y};
          },
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { write_scatter_add(b, b.node(), elements_of_input(b, 2)); },
      .scatter = &rule_scatter_add,
      .aliases = {{.output = 0, .input = 0}},
      .cost = scatter_cost,
      .connection = is_no_index,
      .cases = set_cases};
  return op;
}

Expr scatter_add(const Operand& operand, const Operand& indices, const Operand& added, int64_t axis) {
  Expr x = operand.expr(), which = indices.expr();
  int64_t at = static_cast<int64_t>(axis_of(axis, x, "scatter_add", operand.where()));
  Expr y = broadcast_to(Operand(added.beside(x.dtype()), added.where()), TakeAxes(x.dims(), which.dims(), at).dims());
  return apply(scatter_add_op(), {x, which, y}, {{"axis", at}}, operand.where());
}

}  // namespace thtrain
