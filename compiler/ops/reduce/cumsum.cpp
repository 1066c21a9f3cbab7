#include "compiler/ops/reduce/cumsum.h"

#include "compiler/ir/op.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

size_t axis_number(const Node& node) {
  return static_cast<size_t>(node.props.get<int64_t>("axis"));
}

std::vector<Type> infer_cumsum(const TypeArgs& args) {
  const Type& x = args.type(0);
  const int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(x.rank()), "there is no such axis",
               str("axes from 0 to ", x.rank(), " (without)"));
  return {{.dtype = sum_dtype(x.dtype), .dims = x.dims}};
}

std::vector<Tensor> reference(const ReferenceArgs& args) {
  const size_t axis = axis_number(args.node);
  Tensor out = args.inputs[0].cast(args.node.types[0].dtype).contiguous().copy();
  if (out.size() == 0) return {out};
  const int64_t stride = out.strides()[axis];
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(out.shape(), [&](const Shape& at) {
      T* element = out.data<T>() + out.offset(at);
      if (at[axis] > 0) *element = wrapping_add(element[-stride], *element);
    });
  });
  return {out};
}

// y[0] = x[0], then y[i + 1] = y[i] + x[i + 1]: the first elements by a kernel of their own. Iterations along the other
// axes are independent.
void lower_cumsum(kernel::StepBuilder& b) {
  const kernel::Operand x = parts_of(b.input(0)), out = parts_of(b.output());
  const size_t axis = axis_number(b.node());
  const Dim length = out.type.dims[axis];
  auto nest_of = [&](const Dim& iterations) {
    std::vector<kernel::NestAxis> axes;
    for (const Dim& dim : out.type.dims) axes.push_back({dim});
    axes[axis] = {iterations, kernel::AxisKind::kSequential};
    return kernel::Nest(std::move(axes));
  };
  if (!b.overwrites(0)) {
    kernel::Nest first = nest_of(min(length, Dim(1)));
    first.store(placed(out), kernel::cast(first.load("x", placed(x)), out.type.dtype));
    first.is_read_again = true;
    kernel::schedule(b, first, "cumsum_first", "the first elements along the axis");
  }
  if (length.is_known() && length.value() < 2) return;
  kernel::Nest rest = nest_of(at_least_zero(length - Dim(1)));
  const kernel::Term before = rest.load("before", placed(out));
  const kernel::Term more = rest.load("x", placed(x, b.length(x.layout.strides[axis])));
  rest.store(placed(out, b.length(out.layout.strides[axis])),
             rest.let("sum", before + kernel::cast(more, before.dtype())));
  rest.work = 3;
  kernel::schedule(b, rest, "cumsum", "out0 = the element before it + in0, along the axis");
}

Expr reversed(const Expr& x, size_t axis) {
  std::vector<Index> indices(axis, Slice{});
  indices.emplace_back(Slice{.step = -1});
  return subtensor(x, indices);
}

std::vector<OpCase> cases_cumsum() {
  auto along = [](int64_t axis) {
    return [axis](const std::vector<Expr>& in) { return std::vector{cumsum(in[0], axis)}; };
  };
  auto reversed_columns = [](const std::vector<Expr>& in) { return std::vector{cumsum(reversed(in[0], 1), 1)}; };
  auto of = [](DType dtype, Dims dims) { return std::vector{Type{.dtype = dtype, .dims = std::move(dims)}}; };
  return {
      {.name = "vector", .inputs = of(DType::kFloat64, {9}), .build = along(0)},
      {.name = "one", .inputs = of(DType::kFloat32, {1}), .build = along(0)},
      {.name = "rows", .inputs = of(DType::kFloat32, {5, 21}), .build = along(1)},
      {.name = "columns", .inputs = of(DType::kFloat32, {5, 21}), .build = along(0)},
      {.name = "middle", .inputs = of(DType::kFloat64, {3, 4, 7}), .build = along(1)},
      {.name = "reversed", .inputs = of(DType::kFloat64, {3, 4}), .build = reversed_columns},
      {.name = "nothing", .inputs = of(DType::kFloat64, {0, 3}), .build = along(0)},
      {.name = "no_columns", .inputs = of(DType::kFloat64, {3, 0}), .build = along(0)},
      {.name = "ints", .inputs = of(DType::kInt32, {4, 6}), .build = along(1), .int_low = -9, .int_high = 9},
      {.name = "unsigned", .inputs = of(DType::kUInt8, {300}), .build = along(0), .int_high = 255},
      {.name = "bools", .inputs = of(DType::kBool, {3, 5}), .build = along(0)},
      {.name = "complex", .inputs = of(DType::kComplex64, {4, 3}), .build = along(0)},
  };
}

}  // namespace

const Op& cumsum_op() {
  static const Op op{
      .name = "cumsum",
      .doc =
          "y[a, i, c] = x[a, 0, c] + ... + x[a, i, c], added one after the other in the dtype of y, as NumPy's.\n"
          "Shapes: y as x. Integers and bool give int64 or uint64 and wrap around; floats and complex keep their "
          "dtype.\n"
          "Gradient: the running sums of the cotangent from the end.",
      .infer = infer_cumsum,
      .reference = reference,
      .error =
          [](const ErrorArgs& a) {
            return multilinear_error(a, static_cast<double>(a.inputs[0].dim(axis_number(a.node))) + 1);
          },
      .gradient =
          [](const GradientArgs& args) {
            const size_t axis = axis_number(args.node);
            const Expr from_end = cumsum(reversed(args.cotangent(), axis), static_cast<int64_t>(axis));
            return std::vector{reversed(from_end, axis)};
          },
      .jvp = linear_jvp,
      .lower = lower_cumsum,
      .aliases = {{.output = 0, .input = 0}},
      .cost =
          [](const Node& node) {
            const Dim elements = node.types[0].elements();
            return Cost{elements, elements * Dim(static_cast<int64_t>(2 * size_of(node.types[0].dtype)))};
          },
      .cases = cases_cumsum};
  return op;
}

Expr cumsum(const Operand& operand, std::optional<int64_t> axis) {
  const Expr x = axis ? operand.expr() : flatten(operand);
  const size_t along = axis_of(axis.value_or(0), x, "cumsum", operand.where());
  return apply(cumsum_op(), {x}, {{"axis", static_cast<int64_t>(along)}}, operand.where());
}

}  // namespace thtrain
