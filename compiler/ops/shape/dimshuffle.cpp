// Permuting, adding and dropping axes.
#include <algorithm>
#include <numeric>

#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

const Ints& order_of(const Node& node) {
  return node.props.get<Ints>("order");
}

std::vector<Type> infer_dimshuffle(const TypeArgs& args) {
  const Type& x = args.type(0);
  const Ints& order = args.props.get<Ints>("order");
  int64_t rank = static_cast<int64_t>(x.rank());
  std::vector<bool> used(x.rank());
  Type out{.dtype = x.dtype};
  for (int64_t axis : order) {
    if (axis == -1) {
      out.dims.emplace_back(1);
      continue;
    }
    if (axis < 0 || axis >= rank)
      args.fail(str("there is no axis ", axis), str("axes from 0 to ", rank - 1, ", or -1 for a new one"));
    size_t i = static_cast<size_t>(axis);
    args.require(!used[i], str("axis ", axis, " is taken twice"), "every axis at most once");
    used[i] = true;
    out.dims.push_back(x.dims[i]);
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && !x.dims[i].is(1))
      args.fail(str("axis ", i, " cannot be dropped"), str("its length is known to be 1"),
                "an axis can be dropped only where its type says that the length is 1");
  return {out};
}

std::vector<Tensor> reference_dimshuffle(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Shape strides;
  for (int64_t axis : order_of(args.node)) strides.push_back(axis < 0 ? 0 : x.strides()[static_cast<size_t>(axis)]);
  return {x.view(args.shapes[0], strides, 0).copy()};
}

std::vector<Expr> gradient_dimshuffle(const GradientArgs& args) {
  const Ints& order = order_of(args.node);
  Ints inverse(args.input(0).rank(), -1);
  for (size_t k = 0; k < order.size(); ++k)
    if (order[k] >= 0) inverse[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  return {dimshuffle(args.cotangent(), inverse)};
}

std::optional<Layout> view_dimshuffle(const LayoutArgs& args) {
  Layout out{.strides = {}, .offset = args.input.offset};
  for (int64_t axis : order_of(args.node))
    out.strides.push_back(axis < 0 ? Dim(0) : args.input.strides[static_cast<size_t>(axis)]);
  return out;
}

// Only axes of length 1 come or go: element k of the result is element k.
Access access(const Node& node, size_t) {
  int64_t last = -1;
  for (int64_t axis : order_of(node)) {
    if (axis >= 0 && axis < last) return Access::kWhole;
    last = std::max(last, axis);
  }
  return Access::kElement;
}

std::vector<OpCase> cases_dimshuffle() {
  auto shuffled = [](std::vector<int64_t> order) {
    return [order](const std::vector<Expr>& in) { return std::vector{dimshuffle(in[0], order)}; };
  };
  return {
      {.name = "transpose", .inputs = {{.dtype = DType::kFloat64, .dims = {3, 5}}}, .build = shuffled({1, 0})},
      {.name = "rotate", .inputs = {{.dtype = DType::kFloat32, .dims = {2, 3, 4}}}, .build = shuffled({2, 0, 1})},
      {.name = "row", .inputs = {{.dtype = DType::kFloat64, .dims = {7}}}, .build = shuffled({-1, 0})},
      {.name = "column", .inputs = {{.dtype = DType::kInt16, .dims = {7}}}, .build = shuffled({0, -1})},
      {.name = "scalar", .inputs = {{.dtype = DType::kFloat64, .dims = {}}}, .build = shuffled({-1, -1})},
      {.name = "drop", .inputs = {{.dtype = DType::kComplex64, .dims = {1, 4, 1}}}, .build = shuffled({1})},
      {.name = "drop_and_add", .inputs = {{.dtype = DType::kBool, .dims = {3, 1, 2}}}, .build = shuffled({2, -1, 0})},
      {.name = "empty", .inputs = {{.dtype = DType::kFloat32, .dims = {0, 4}}}, .build = shuffled({1, -1, 0})},
  };
}

}  // namespace

static Expr shuffled_in_all_iterations(const Node& node, const Dim&, std::span<const Expr> inputs,
                                       const std::vector<bool>&) {
  Ints order = {0};
  for (int64_t axis : order_of(node)) order.push_back(axis < 0 ? -1 : axis + 1);
  return dimshuffle(inputs[0], order);
}
static constexpr IterationsRule kAllIterations_dimshuffle{.all = shuffled_in_all_iterations, .is_whole_view = true};

const Op& dimshuffle_op() {
  static const Op op{
      .name = "dimshuffle",
      .doc =
          "y[i_0, ..., i_m] = x[...], axis k of y being axis order[k] of x, or a new axis of length 1 for -1. A view.\n"
          "Shapes: axes that order leaves out have the known length 1.\n"
          "dtypes: any.\n"
          "Gradient: the inverse order.\n"
          "Edge cases: lengths of 0 stay.\n"
          "Example: [[1, 2], [3, 4]] becomes [[1, 3], [2, 4]]",
      .infer = infer_dimshuffle,
      .reference = reference_dimshuffle,
      .error = moved_error,
      .gradient = gradient_dimshuffle,
      .jvp = linear_jvp,
      .access = access,
      .iterations = &kAllIterations_dimshuffle,
      .axis_order = order_of,
      .aliases = {{.output = 0, .input = 0, .view = view_dimshuffle}},
      .symbolic = [](const Node&, std::span<const Dim> values) -> std::optional<Dim> { return values[0]; },
      .cases = cases_dimshuffle};
  return op;
}

static Expr shuffled(const Expr& x, std::vector<int64_t> order, const std::source_location& where) {
  bool same = order.size() == x.rank();
  for (size_t k = 0; same && k < order.size(); ++k) same = order[k] == static_cast<int64_t>(k);
  if (same) return x;
  return apply(dimshuffle_op(), {x}, {{"order", std::move(order)}}, where);
}

Expr dimshuffle(const Operand& x, std::vector<int64_t> order) {
  return shuffled(x.expr(), std::move(order), x.where());
}

Expr transpose(const Operand& operand) {
  Expr x = operand.expr();
  std::vector<int64_t> order(x.rank());
  std::iota(order.rbegin(), order.rend(), 0);
  return shuffled(x, std::move(order), operand.where());
}

Expr Expr::T(std::source_location where) const {
  return transpose(Operand(require_value(*this, "what is transposed", where), where));
}

Expr transpose(const Operand& operand, const std::vector<int64_t>& axes) {
  Expr x = operand.expr();
  if (axes.size() != x.rank())
    fail_build(operand.where(), str("transpose: ", axes.size(), " axes are given"), str("all ", x.rank(), " axes"),
               value_text(x), "dimshuffle adds and drops axes");
  std::vector<int64_t> order;
  for (int64_t axis : axes) order.push_back(static_cast<int64_t>(axis_of(axis, x, "transpose", operand.where())));
  return shuffled(x, std::move(order), operand.where());
}

Expr expand_dims(const Operand& operand, const std::vector<int64_t>& axes) {
  Expr x = operand.expr();
  size_t rank = x.rank() + axes.size();
  std::vector<bool> is_new(rank);
  for (int64_t axis : axes) {
    size_t at = axis_in(axis, rank, x, "expand_dims", operand.where());
    if (is_new[at])
      fail_build(operand.where(), str("expand_dims: axis ", axis, " is given twice"), "different positions",
                 value_text(x));
    is_new[at] = true;
  }
  std::vector<int64_t> order;
  int64_t next = 0;
  for (bool added : is_new) order.push_back(added ? -1 : next++);
  return shuffled(x, std::move(order), operand.where());
}

static Expr without(const Expr& x, const std::vector<bool>& dropped, const std::source_location& where) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < dropped.size(); ++i)
    if (!dropped[i]) order.push_back(static_cast<int64_t>(i));
  return shuffled(x, std::move(order), where);
}

Expr squeeze(const Operand& operand, const std::vector<int64_t>& axes) {
  Expr x = operand.expr();
  std::vector<bool> dropped(x.rank());
  for (int64_t axis : axes) dropped[axis_of(axis, x, "squeeze", operand.where())] = true;
  return without(x, dropped, operand.where());
}

Expr squeeze(const Operand& operand) {
  Expr x = operand.expr();
  std::vector<bool> dropped;
  for (const Dim& dim : x.dims()) dropped.push_back(dim.is(1));
  return without(x, dropped, operand.where());
}

}  // namespace thtrain
