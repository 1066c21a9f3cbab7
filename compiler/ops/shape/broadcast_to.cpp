// Repeating a value along axes without copying it; zeros, ones and full are such views of a scalar.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/unbroadcast.h"

namespace thtrain {

namespace {

std::vector<Type> infer_broadcast_to(const TypeArgs& args) {
  const Type& x = args.type(0);
  Type out{.dtype = x.dtype, .dims = args.props.get<Dims>("dims")};
  for (const Dim& dim : out.dims) require_length(args, dim);
  if (out.rank() < x.rank())
    args.fail(str("the lengths [", readable(dims_text(out.dims)), "] are too few"),
              str("at least ", x.rank(), " lengths"));
  size_t added = out.rank() - x.rank();
  for (size_t i = 0; i < x.rank(); ++i) {
    const Dim& before = x.dims[i];
    const Dim& after = out.dims[added + i];
    if (before.is(1)) continue;
    if (before.is_known() && after.is_known() && !(before == after))
      args.fail(str("axis ", i, " has length ", before.value(), " and cannot be repeated to ", after.value()),
                str("[", readable(dims_text(out.dims)), "] equal to the lengths of x, except where those are 1"));
    args.require_equal(before, after, str("the length of axis ", i, " differs, and is not known to be 1"));
  }
  return {out};
}

Shape repeating_strides(const Shape& strides, const Dims& dims, size_t rank) {
  Shape out(rank - strides.size(), 0);
  for (size_t i = 0; i < strides.size(); ++i) out.push_back(dims[i].is(1) ? 0 : strides[i]);
  return out;
}

std::vector<Tensor> reference_broadcast_to(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  const Dims& dims = args.node.inputs[0].dims();
  Shape expected(args.shapes[0].end() - static_cast<std::ptrdiff_t>(dims.size()), args.shapes[0].end());
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].is(1)) expected[i] = 1;
  require_same_shape(args.node, expected, x.shape(), "a length differs, and is not known to be 1");
  Shape strides = repeating_strides(x.strides(), args.node.inputs[0].dims(), args.shapes[0].size());
  return {x.view(args.shapes[0], strides, 0).copy()};
}

std::optional<Layout> view_broadcast_to(const LayoutArgs& args) {
  const Dims& before = args.node.inputs[0].dims();
  Layout out{.strides = Dims(args.node.types[0].rank() - before.size(), Dim(0)), .offset = args.input.offset};
  for (size_t i = 0; i < before.size(); ++i) out.strides.push_back(before[i].is(1) ? Dim(0) : args.input.strides[i]);
  return out;
}

std::vector<OpCase> cases_broadcast_to() {
  auto to = [](LengthList lengths) {
    return [lengths](const std::vector<Expr>& in) { return std::vector{broadcast_to(in[0], lengths)}; };
  };
  return {
      {.name = "scalar", .inputs = {{.dtype = DType::kFloat64, .dims = {}}}, .build = to({2, 3})},
      {.name = "row", .inputs = {{.dtype = DType::kFloat64, .dims = {5}}}, .build = to({3, 5})},
      {.name = "column", .inputs = {{.dtype = DType::kFloat32, .dims = {3, 1}}}, .build = to({3, 5})},
      {.name = "both", .inputs = {{.dtype = DType::kFloat64, .dims = {1, 4, 1}}}, .build = to({2, 3, 4, 5})},
      {.name = "ints", .inputs = {{.dtype = DType::kInt8, .dims = {1}}}, .build = to({7})},
      {.name = "to_empty", .inputs = {{.dtype = DType::kFloat32, .dims = {1, 3}}}, .build = to({0, 3})},
      {.name = "of_empty", .inputs = {{.dtype = DType::kFloat64, .dims = {0, 1}}}, .build = to({2, 0, 3})},
  };
}

}  // namespace

static Expr repeated_in_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                       const std::vector<bool>&) {
  const size_t own = node.inputs[0].rank(), rank = node.types[0].rank();
  Ints order = {0};
  order.insert(order.end(), rank - own, -1);
  for (size_t axis = 1; axis <= own; ++axis) order.push_back(static_cast<int64_t>(axis));
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), iterations);
  return broadcast_for(dimshuffle(inputs[0], order), lengths, node.props.get_or<std::string>("called", {}));
}
static constexpr IterationsRule kAllIterations_broadcast_to{.all = repeated_in_all_iterations, .is_whole_view = true};

const Op& broadcast_to_op() {
  static const Op op{
      .name = "broadcast_to",
      .doc =
          "x repeated along new axes on the left and along its axes of known length 1, to the lengths dims. A view "
          "with strides of 0; not folded, so that zeros never become a constant of their size.\n"
          "Shapes: other lengths agree, which is checked when a call begins where it cannot be proved.\n"
          "dtypes: any.\n"
          "Gradient: the cotangent summed over the repeated axes.\n"
          "Edge cases: repeated 0 times, the gradient is 0.\n"
          "Example: [1, 2] to 3 rows: [[1, 2], [1, 2], [1, 2]]",
      .called = [](const Props& props) { return props.get_or<std::string>("called", "broadcast_to"); },
      .infer = infer_broadcast_to,
      .reference = reference_broadcast_to,
      .error = moved_error,
      .gradient = [](const GradientArgs& args) { return std::vector{unbroadcast(args.cotangent(), args.input(0))}; },
      .jvp = linear_jvp,
      .iterations = &kAllIterations_broadcast_to,
      .aliases = {{.output = 0, .input = 0, .view = view_broadcast_to}},
      .foldable = false,
      .symbolic = [](const Node&, std::span<const Dim> values) -> std::optional<Dim> { return values[0]; },
      .cases = cases_broadcast_to};
  return op;
}

Expr broadcast_to(const Operand& operand, const LengthList& lengths) {
  return broadcast_for(operand, lengths.dims, {});
}

// Where nothing can fail nobody is named: equal values merge.
Expr broadcast_for(const Operand& operand, const Dims& dims, const std::string& called) {
  Expr x = operand.expr();
  if (dims == x.dims()) return x;
  bool may_fail = x.rank() > dims.size();
  for (size_t i = 0; !may_fail && i < x.rank(); ++i)
    may_fail = !x.dims()[i].is(1) && !(x.dims()[i] == dims[dims.size() - x.rank() + i]);
  Props props{{"dims", dims}};
  if (may_fail && !called.empty()) props.set("called", called);
  return apply(broadcast_to_op(), {x}, std::move(props), operand.where());
}

Expr broadcast_like(const Operand& x, const Operand& like) {
  return broadcast_to(x, like.expr().dims());
}

// ---- values from nothing -------------------------------------------------------------------------------------------

static Expr filled(const Dims& dims, const Tensor& value, const std::source_location& where) {
  return broadcast_to(Operand(make_constant(value, where), where), dims);
}

Expr zeros(const LengthList& lengths, std::optional<DType> dtype, std::source_location where) {
  return filled(lengths.dims, Tensor(0.0).cast(dtype.value_or(floatX())), where);
}

Expr ones(const LengthList& lengths, std::optional<DType> dtype, std::source_location where) {
  return filled(lengths.dims, Tensor(1.0).cast(dtype.value_or(floatX())), where);
}

Expr full(const LengthList& lengths, const Operand& value, std::optional<DType> dtype) {
  Expr scalar = dtype ? value.for_dtype(*dtype) : value.expr();
  if (scalar.rank() != 0)
    fail_build(value.where(), "full: the value has axes", "a scalar", value_text(scalar), "broadcast_to repeats it");
  if (dtype && scalar.dtype() != *dtype) {
    const Tensor* constant = constant_value(scalar);
    scalar =
        constant ? make_constant(constant->cast(*dtype), value.where()) : cast(Operand(scalar, value.where()), *dtype);
  }
  return broadcast_to(Operand(scalar, value.where()), lengths);
}

Expr zeros_like(const Operand& x, std::optional<DType> dtype) {
  Expr like = x.expr();
  return zeros(like.dims(), dtype.value_or(like.dtype()), x.where());
}

Expr ones_like(const Operand& x, std::optional<DType> dtype) {
  Expr like = x.expr();
  return ones(like.dims(), dtype.value_or(like.dtype()), x.where());
}

Expr full_like(const Operand& x, const Operand& value, std::optional<DType> dtype) {
  Expr like = x.expr();
  return full(like.dims(), value, dtype.value_or(like.dtype()));
}

}  // namespace thtrain
