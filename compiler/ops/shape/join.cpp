// Values one after the other along an axis, and the way back.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {

namespace {

size_t axis_of_join(const Node& node) {
  return static_cast<size_t>(node.props.get<int64_t>("axis"));
}

std::vector<Type> infer_join(const TypeArgs& args) {
  args.require(!args.inputs.empty(), "no values are given", "at least one");
  Type out = args.type(0);
  int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(out.rank()), "there is no such axis",
               str("axes from 0 to ", out.rank(), " (without)"));
  for (size_t i = 1; i < args.inputs.size(); ++i) {
    const Type& x = args.type(i);
    args.require(x.dtype == out.dtype, "the dtypes differ", "one dtype");
    args.require(x.rank() == out.rank(), str("value ", i, " has another number of axes"), str(out.rank(), " axes"));
    for (size_t k = 0; k < x.rank(); ++k)
      if (k == static_cast<size_t>(axis))
        out.dims[k] = out.dims[k] + x.dims[k];
      else
        args.require_equal(out.dims[k], x.dims[k], str("value ", i, " has another length of axis ", k));
  }
  return {out};
}

std::vector<Tensor> reference_join(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  size_t axis = axis_of_join(args.node);
  int64_t start = 0;
  for (const Tensor& x : args.inputs) {
    Shape expected = out.shape();
    expected[axis] = x.dim(axis);
    require_same_shape(args.node, expected, x.shape(), "a value has another length of another axis");
    out.view(x.shape(), out.strides(), start * out.strides()[axis]).assign(x);
    start += x.dim(axis);
  }
  return {out};
}

std::vector<Expr> gradient_join(const GradientArgs& args) {
  std::vector<Expr> out;
  Dim start = 0;
  int64_t axis = args.node.props.get<int64_t>("axis");
  for (const Expr& x : args.node.inputs) {
    const Dim& count = x.dims()[static_cast<size_t>(axis)];
    out.push_back(slice_of_axis(args.cotangent(), axis, start, count));
    start = start + count;
  }
  return out;
}

std::vector<Layout> destinations(const Node& node, const Layout& output) {
  const size_t axis = axis_of_join(node);
  std::vector<Layout> out;
  Dim start = 0;
  for (const Expr& input : node.inputs) {
    out.push_back({output.strides, output.offset + start * output.strides[axis]});
    start = start + input.dims()[axis];
  }
  return out;
}

// A kernel for each value that was not computed in its location.
void lower_join(kernel::StepBuilder& b) {
  const kernel::Operand out = bits_of(b.output());
  const size_t axis = axis_of_join(b.node());
  Dim start = 0;
  for (size_t i = 0; i < b.node().inputs.size(); ++i) {
    const kernel::Operand in = bits_of(b.input(i));
    kernel::Operand part = out;
    part.type.dims = in.type.dims;
    const Dim first = start * out.layout.strides[axis];
    start = start + in.type.dims[axis];
    if (b.is_at_destination(i)) continue;
    move_kernel(b, kernel::placed(in), kernel::placed(part, b.length(first)), "join", str("a part of out0 = in", i));
  }
}

std::vector<OpCase> cases_join() {
  auto joined = [](int64_t axis) {
    return [axis](const std::vector<Expr>& in) {
      return std::vector{join(axis, std::vector<Operand>(in.begin(), in.end()))};
    };
  };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  return {
      {.name = "vectors", .inputs = {f64({3}), f64({1}), f64({4})}, .build = joined(0)},
      {.name = "rows", .inputs = {f32({2, 19}), f32({3, 19})}, .build = joined(0)},
      {.name = "columns", .inputs = {f32({3, 9}), f32({3, 1}), f32({3, 10})}, .build = joined(-1)},
      {.name = "middle", .inputs = {f64({2, 3, 4}), f64({2, 0, 4}), f64({2, 1, 4})}, .build = joined(1)},
      {.name = "one", .inputs = {f64({2, 3})}, .build = joined(1)},
      {.name = "promoted", .inputs = {{.dtype = DType::kInt32, .dims = {2}}, f32({3})}, .build = joined(0)},
      {.name = "bools",
       .inputs = {{.dtype = DType::kBool, .dims = {2}}, {.dtype = DType::kBool, .dims = {3}}},
       .build = joined(0)},
      {.name = "transposed",
       .inputs = {f64({4, 2}), f64({3, 2})},
       .build =
           [](const std::vector<Expr>& in) {
             return std::vector{join(1, {transpose(in[0]), transpose(in[1])})};
           }},
  };
}

}  // namespace

const Op& join_op() {
  static const Op op{
      .name = "join",
      .doc =
          "The values one after the other along an axis.\n"
          "Shapes: the other lengths agree, which is checked when a call begins where it cannot be proved.\n"
          "dtypes: one (the builder promotes).\n"
          "Gradient: each value gets its part of the cotangent.\n"
          "Edge cases: a value without elements adds none.\n"
          "Example: [1, 2] and [3]: [1, 2, 3]",
      .infer = infer_join,
      .reference = reference_join,
      .error = moved_error,
      .gradient = gradient_join,
      .jvp = linear_jvp,
      .lower = lower_join,
      .destinations = destinations,
      .iterations = &kLaterAxesOfIterations,
      .cost =
          [](const Node& node) {
            return Cost{0, node.types[0].elements() * Dim(2 * static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .cases = cases_join};
  return op;
}

// The values in their common dtype; literals take that of the expressions.
static std::vector<Expr> promoted(const std::vector<Operand>& values, std::string_view builder,
                                  const std::source_location& called) {
  if (values.empty()) fail_build(called, str(builder, ": no values are given"), "at least one");
  std::optional<DType> dtype;
  for (const Operand& value : values) {
    if (value.is_literal()) continue;
    DType next = value.expr().dtype();
    auto common = dtype ? promote(*dtype, next) : next;
    if (!common)
      fail_build(value.where(), str(builder, ": the dtypes have no common dtype"), std::string(name_of(*dtype)),
                 value_text(value.expr()), "cast one of them");
    dtype = common;
  }
  std::vector<Expr> out;
  for (const Operand& value : values) {
    Expr x = dtype ? value.for_dtype(*dtype) : value.expr();
    out.push_back(dtype && x.dtype() != *dtype ? cast(Operand(x, value.where()), *dtype) : x);
  }
  return out;
}

Expr join(int64_t axis, const std::vector<Operand>& values, std::source_location called) {
  std::vector<Expr> inputs = promoted(values, "join", called);
  const std::source_location& where = values[0].where();
  int64_t at = static_cast<int64_t>(axis_of(axis, inputs[0], "join", where));
  return apply(join_op(), std::move(inputs), {{"axis", at}}, where);
}

Expr concatenate(const std::vector<Operand>& values, int64_t axis, std::source_location where) {
  return join(axis, values, where);
}

Expr stack(const std::vector<Operand>& values, int64_t axis, std::source_location where) {
  std::vector<Operand> rows;
  for (const Expr& x : promoted(values, "stack", where)) {
    const Operand each(x, values[0].where());
    rows.emplace_back(expand_dims(each, {axis}), each.where());
  }
  return join(axis, rows);
}

std::vector<Expr> split(const Operand& operand, const LengthList& sizes, int64_t axis) {
  Expr x = operand.expr();
  size_t at = axis_of(axis, x, "split", operand.where());
  const auto text = [](const Dim& size) { return size.text(); };
  for (const Dim& size : sizes.dims)
    if (size.is_known() && size.value() < 0)
      fail_build(operand.where(), "split: a size is negative", "sizes of at least 0", join(sizes.dims, ", ", text));
  Dim total = 0;
  for (const Dim& size : sizes.dims) total = total + size;
  if (total.is_known() && x.dims()[at].is_known() && !(total == x.dims()[at]))
    fail_build(operand.where(), str("split: the sizes do not add up to the length of axis ", at), x.dims()[at].text(),
               str(total.value(), " = ", join(sizes.dims, " + ", text)));
  // Each piece reads the value under that length, so that a call checks it whichever pieces it reads; a known one
  // stays.
  Dims lengths = x.dims();
  lengths[at] = total;
  const char* what = "split: the sizes do not add up";
  Expr whole = specify_lengths(Operand(x, operand.where()), lengths, what);
  if (x.dims()[at].is_known()) whole = specify_lengths(Operand(whole, operand.where()), x.dims(), what);
  std::vector<Expr> out;
  Dim start = 0;
  for (const Dim& size : sizes.dims) {
    out.push_back(slice_of_axis(Operand(whole, operand.where()), axis, start, size));
    start = start + size;
  }
  return out;
}

}  // namespace thtrain
