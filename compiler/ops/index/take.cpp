// Reading elements of an axis that integers name.
#include "compiler/ops/elemwise/gather.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/index/take_axes.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

std::vector<Type> infer_take(const TypeArgs& args) {
  const Type &x = args.type(0), &indices = args.type(1);
  args.require(is_int(indices.dtype), "the indices are not integers", "an integer dtype");
  int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(x.rank()), "there is no such axis",
               str("axes from 0 to ", x.rank(), " (without)"));
  return {{.dtype = x.dtype, .dims = TakeAxes(x.dims, indices.dims, axis).dims()}};
}

std::vector<Tensor> reference_take(const ReferenceArgs& args) {
  const Tensor &x = args.inputs[0], &indices = args.inputs[1];
  Tensor out = args.make_output();
  TakeAxes axes(args.node);
  axes.check_all(args.node, indices, x.dim(axes.axis));
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_index(out.shape(), [&](const Shape& at) {
      out.data<T>()[out.offset(at)] = x.data<T>()[x.offset(axes.source_of(args.node, at, indices, x.dim(axes.axis)))];
    });
  });
  return {out};
}

void lower_take(kernel::StepBuilder& b) {
  lower_gather(b, "elements of in0 that in1 names");
}

GatherSteps gather_steps(const Node& node, const kernel::Operand& x, const kernel::Operand& indices) {
  const TakeAxes axes(node);
  const size_t rank = node.types[0].rank();
  GatherSteps out{.axis = axes.axis,
                  .check = axes.check(node.op->name),
                  .source = Dims(rank, Dim(0)),
                  .indices = Dims(rank, Dim(0))};
  for (size_t i = 0; i < rank; ++i)
    if (i >= axes.axis && i < axes.end)
      out.indices[i] = indices.layout.strides[i - axes.axis];
    else
      out.source[i] = x.layout.strides[i < axes.axis ? i : i - axes.end + axes.axis + 1];
  return out;
}

constexpr GatherRule kGather_take{.source = 0,
                                  .indices = 1,
                                  .reads_rows =
                                      [](const Node& node) {
                                        return node.props.get<int64_t>("axis") + 1 <
                                               static_cast<int64_t>(node.inputs[0].rank());
                                      },
                                  .steps = gather_steps};

std::vector<OpCase> cases_take() {
  auto taken = [](int64_t axis) {
    return [axis](const std::vector<Expr>& in) { return std::vector{take(in[0], in[1], axis)}; };
  };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto ints = [](DType dtype, Dims dims) { return Type{.dtype = dtype, .dims = std::move(dims)}; };
  return {
      {.name = "rows",
       .inputs = {f64({6, 3}), ints(DType::kInt64, {4})},
       .build = taken(0),
       .int_low = -6,
       .int_high = 5},
      {.name = "wide_rows", .inputs = {f32({5, 21}), ints(DType::kInt32, {7})}, .build = taken(0), .int_low = -4},
      {.name = "columns", .inputs = {f32({3, 6}), ints(DType::kInt8, {2})}, .build = taken(-1), .int_low = -3},
      {.name = "middle", .inputs = {f64({2, 5, 3}), ints(DType::kInt64, {2, 4})}, .build = taken(1), .int_low = -3},
      {.name = "one", .inputs = {f64({5, 3}), ints(DType::kUInt8, {})}, .build = taken(0)},
      {.name = "elements", .inputs = {f64({7}), ints(DType::kUInt64, {5})}, .build = taken(0)},
      {.name = "of_transposed",
       .inputs = {f32({3, 5}), ints(DType::kInt64, {2})},
       .build = [](const std::vector<Expr>& in) { return std::vector{take(transpose(in[0]), in[1])}; }},
      {.name = "none", .inputs = {f64({5, 3}), ints(DType::kInt64, {0})}, .build = taken(0)},
      {.name = "of_empty_rows", .inputs = {f32({5, 0}), ints(DType::kInt64, {2})}, .build = taken(0)},
      {.name = "bools",
       .inputs = {{.dtype = DType::kBool, .dims = {5, 3}}, ints(DType::kInt64, {2})},
       .build = taken(0)},
      {.name = "of_columns", .inputs = {f64({6, 1}), ints(DType::kInt16, {1, 3, 1})}, .build = taken(0)},
  };
}

}  // namespace

TakeAxes::TakeAxes(const Dims& x, const Dims& indices, int64_t taken)
    : axis(static_cast<size_t>(taken)), end(axis + indices.size()), x_(&x), indices_(&indices) {}

TakeAxes::TakeAxes(const Node& node)
    : TakeAxes(node.inputs[0].dims(), node.inputs[1].dims(), node.props.get<int64_t>("axis")) {}

Dims TakeAxes::dims() const {
  Dims out(x_->begin(), x_->begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), indices_->begin(), indices_->end());
  out.insert(out.end(), x_->begin() + static_cast<std::ptrdiff_t>(axis) + 1, x_->end());
  return out;
}

IndexCheck TakeAxes::check(const std::string& op) const {
  return {.what = str(op, ": the index {value} is outside axis ", axis),
          .expected = "-{limit} <= index < {limit}",
          .from_end = true};
}

void TakeAxes::check_all(const Node& node, const Tensor& indices, int64_t length) const {
  for (int64_t i = 0; i < indices.size(); ++i)
    checked_position(node, check(node.op->name), indices.dtype(), indices.as_int(i), length);
}

Shape TakeAxes::source_of(const Node& node, const Shape& at, const Tensor& indices, int64_t length) const {
  int64_t index = indices.as_int(indices.offset(index_part(at)));
  return with_position(at, checked_position(node, check(node.op->name), indices.dtype(), index, length));
}

const Op& take_op() {
  static const Op op{
      .name = "take",
      .doc =
          "y[a, i, c] = x[a, indices[i], c], where a and c stand for the axes before and after the taken one.\n"
          "Shapes: x [A, n, C], indices [I], y [A, I, C]. Negative indices count from the end; others outside the\n"
          "axis fail, whether or not an element is read through them. dtypes: x any, indices any integer.\n"
          "Gradient: the cotangent added into zeros at the indices (scatter_add); indices have none.",
      .infer = infer_take,
      .reference = reference_take,
      .error = moved_error,
      .gradient =
          [](const GradientArgs& args) {
            int64_t axis = args.node.props.get<int64_t>("axis");
            return std::vector{scatter_add(zeros_like(args.input(0)), args.input(1), args.cotangent(), axis), Expr()};
          },
      .jvp = linear_jvp,
      .lower = lower_take,
      .gather = &kGather_take,
      .cost = gather_cost,
      .connection = is_no_index,
      .cases = cases_take};
  return op;
}

Expr take(const Operand& operand, const Operand& indices, int64_t axis) {
  Expr x = operand.expr();
  int64_t at = static_cast<int64_t>(axis_of(axis, x, "take", operand.where()));
  return apply(take_op(), {x, indices.expr()}, {{"axis", at}}, operand.where());
}

}  // namespace thtrain
