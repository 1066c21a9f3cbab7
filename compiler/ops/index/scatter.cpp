// Adding to elements that integers name along some axes, and replacing them.
#include "compiler/ops/index/scatter.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Elements given_elements(kernel::StepBuilder& b) {
  const kernel::Operand from = parts_of(b.input(kScattered));
  return {from.type.dims, "", str("in", kScattered), kMoveWork,
          [from](kernel::Nest& nest) { return nest.load("x", kernel::placed(from)); }};
}

Cost scatter_cost(const Node& node) {
  const Dim elements = node.inputs[kScattered].type().elements();
  return {elements, elements * Dim(3 * static_cast<int64_t>(size_of(node.types[0].dtype)))};
}

namespace {

bool is_set(const Props& props) {
  return props.get<bool>("set");
}

std::string name_of_scatter(const Props& props) {
  return props.get_or<std::string>("builder", is_set(props)                         ? "scatter_set"
                                              : props.get_or<bool>("by_row", false) ? "scatter_add_rows"
                                              : props.get_or<bool>("along", false)  ? "scatter_add_along_axis"
                                                                                    : "scatter_add");
}

std::vector<Type> infer_scatter(const TypeArgs& args) {
  const Type &x = args.type(0), &y = args.type(kScattered);
  const bool set = is_set(args.props);
  const std::string written = set ? "new" : "added";
  const Dims dims = indexed_dims(args, kScattered + 1);
  args.require(set || !is_bool(x.dtype), "bools cannot be added to", "numbers");
  args.require(y.dtype == x.dtype, str("the ", written, " value has another dtype"), std::string(name_of(x.dtype)));
  const Ints& axes = args.props.get<Ints>("axes");
  const Node& indices = args.inputs[kScattered + 1].node();
  const bool is_mask = indices.op == &nonzero_op() && axes.size() == 1 && !args.props.get_or<bool>("by_row", false);
  if (is_mask)
    args.require_equal(x.dims[static_cast<size_t>(axes[0])], indices.inputs[0].dims()[0],
                       "the mask has another length");
  args.require(y.rank() == dims.size(), str("the ", written, " value has another number of axes"),
               str(dims.size(), " axes"));
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool counts = is_mask && static_cast<int64_t>(i) == axes[0];
    args.require_equal(y.dims[i], dims[i],
                       counts
                           ? str("the number of ", written, " values is not that of the elements that the mask names")
                           : str("the ", written, " value differs from the named elements in axis ", i));
  }
  return {x};
}

std::vector<Tensor> reference_scatter(const ReferenceArgs& args) {
  const Tensor& y = args.inputs[kScattered];
  const IndexedAxes form = indexed_axes_of(args.node);
  Tensor out = args.inputs[0].copy();
  require_same_shape(args.node, form.dims(out.shape(), args.inputs.back().shape()), y.shape(),
                     "what is written has another shape than the named elements");
  const bool set = is_set(args.node.props);
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_named(args, [&](const Shape& element, const Shape& in_x) {
      T& target = out.data<T>()[out.offset(in_x)];
      const T value = y.data<T>()[y.offset(element)];
      target = set ? value : wrapping_add(target, value);
    });
  });
  return {out};
}

// Iterations of different indices may write one element; along the axes of x each writes an element of its own.
void write_scatter(kernel::StepBuilder& b, const Node& node, const Elements& elements) {
  const IndexedAxes form = indexed_axes_of(node);
  const bool set = is_set(node.props);
  std::vector<kernel::Operand> indices;
  for (size_t k = 0; k < form.named.size(); ++k) indices.push_back(b.input(kScattered + 1 + k));
  check_indices(b, node, form, indices);
  if (!b.overwrites(0))
    copy_kernel(b, 0, str("out0 = in0, before some of it is ", set ? "replaced" : "added to"), true);

  std::vector<kernel::NestAxis> axes;
  for (const Dim& length : elements.dims) axes.push_back({length});
  bool in_order = false;
  for (size_t i = 0; i < form.axes.size(); ++i)
    if (!form.axes[i].of_x) {
      axes[i].kind = kernel::AxisKind::kSequential;
      in_order = true;
    }
  kernel::Nest nest(std::move(axes));
  const kernel::Location target =
      indexed_location(nest, node, form, elements.dims, parts_of(b.output()), indices, true);
  const kernel::Term before = set ? kernel::Term() : nest.load("before", target), value = elements.add_to(nest);
  nest.store(target, set ? value : nest.let("sum", before + value));
  nest.work = elements.work;
  kernel::schedule(b, nest, elements.name + node.op->name,
                   str("elements of out0 at ", indices_text(node, kScattered + 1), set ? " = " : " += ", elements.text,
                       in_order ? ", one index after the other" : ""));
}

std::vector<Tensor> error_of_scatter(const ErrorArgs& args) {
  if (is_set(args.node.props)) return moved_error(args);
  // An element of a row is added to once; others as often as there are indices.
  return multilinear_error(args, is_by_row(args.node) ? 1 : static_cast<double>(args.inputs.back().size()) + 1);
}

// No element is named twice: those of a mask, of a slice, one of each row.
bool names_distinct(const Node& node) {
  return is_by_row(node) || node.props.get_or<bool>("distinct", false) ||
         (node.inputs.size() == kScattered + 2 && node.inputs.back().node().op == &nonzero_op());
}

// Of several values that are set at one element the last one stays: the cotangents of the others are 0.
Expr where_it_stays(const Node& node, const Expr& cotangents) {
  const Dims &all = node.inputs[0].dims(), &dims = node.inputs[kScattered].dims();
  const Expr numbers = reshape(arange(apply(length_op(), {}, {{"dim", Dims{product(dims)}}})), dims);
  const Expr last = gather_like(node, scatter_like(node, zeros(all, DType::kInt64), numbers, true));
  return where(eq(last, numbers), cotangents, zeros_like(cotangents));
}

std::vector<Expr> gradient_scatter(const GradientArgs& args) {
  const Node& node = args.node;
  const Expr& cotangent = args.cotangent();
  std::vector<Expr> out(node.inputs.size());
  const bool set = is_set(node.props);
  const Expr of_elements = gather_like(node, cotangent);
  out[kScattered] = set && !names_distinct(node) ? where_it_stays(node, of_elements) : of_elements;
  out[0] = set ? scatter_like(node, cotangent, zeros_like(args.input(kScattered)), true) : cotangent;
  return out;
}

using In = const std::vector<Expr>&;
using Build = std::function<std::vector<Expr>(In)>;

// Inputs: x, the elements that are replaced.
Build replaced_at(std::vector<int64_t> locations, int64_t axis) {
  return [=](In in) {
    const Expr indices = make_constant(Tensor::of(locations, {static_cast<int64_t>(locations.size())}));
    return std::vector{scatter_like(take(in[0], indices, axis).node(), in[0], in[1], true)};
  };
}

std::vector<OpCase> cases_scatter() {
  auto added = [](int64_t axis) {
    return [axis](In in) { return std::vector{scatter_add(in[0], in[1], in[2], axis)}; };
  };
  auto picked = [](In in) { return std::vector{scatter_add_rows(in[0], in[1], in[2])}; };
  auto along = [](int64_t axis) {
    return [axis](In in) { return std::vector{scatter_add_along_axis(in[0], in[1], in[2], axis)}; };
  };
  auto at = [](In in) { return std::vector{inc_subtensor(in[0][{in[1], in[2]}], in[3])}; };
  auto in_the_middle = [](In in) { return std::vector{inc_subtensor(in[0][{all(), in[1], in[2]}], in[3])}; };
  auto set = [](In in) { return std::vector{set_subtensor(in[0][in[1]], in[2])}; };
  auto set_along = [](In in) { return std::vector{set_subtensor(take_along_axis(in[0], in[1], 1), in[2])}; };
  auto type = [](DType dtype) { return [dtype](Dims dims) { return Type{.dtype = dtype, .dims = std::move(dims)}; }; };
  auto f64 = type(DType::kFloat64), f32 = type(DType::kFloat32), i64 = type(DType::kInt64), u8 = type(DType::kUInt8),
       c64 = type(DType::kComplex64), i8 = type(DType::kInt8), i32 = type(DType::kInt32), bools = type(DType::kBool);
  return {
      {.name = "rows", .inputs = {f64({4, 3}), i64({7}), f64({7, 3})}, .build = added(0), .int_low = -4},
      {.name = "wide_rows", .inputs = {f32({4, 21}), i64({9}), f32({9, 21})}, .build = added(0), .int_low = -4},
      {.name = "columns", .inputs = {f32({3, 5}), i64({9}), f32({3, 9})}, .build = added(1), .int_low = -4},
      {.name = "middle", .inputs = {f64({2, 5, 3}), i64({2, 4}), f64({2, 2, 4, 3})}, .build = added(1)},
      {.name = "elements", .inputs = {f64({5}), i64({8}), f64({8})}, .build = added(0)},
      {.name = "one", .inputs = {f64({5, 3}), i64({}), f64({3})}, .build = added(0)},
      {.name = "by_row", .inputs = {f64({5, 3}), i64({6}), f64({3})}, .build = added(0)},
      {.name = "none", .inputs = {f64({5, 3}), i64({0}), f64({0, 3})}, .build = added(0)},
      {.name = "all_at_one",
       .inputs = {f64({3}), i64({}), f64({})},
       .build =
           [](In in) { return std::vector{scatter_add(in[0], broadcast_to(in[1], {6}), broadcast_to(in[2], {6}))}; },
       .int_low = -3,
       .int_high = 3},
      {.name = "ints", .inputs = {u8({5}), i64({7}), u8({7})}, .build = added(0)},
      {.name = "picked", .inputs = {f64({7, 5}), i64({7}), f64({7})}, .build = picked},
      {.name = "picked_float32", .inputs = {f32({3, 10}), i32({3}), f32({3})}, .build = picked},
      {.name = "picked_of_one_row", .inputs = {f64({1, 6}), u8({1}), f64({1})}, .build = picked},
      {.name = "picked_of_no_rows", .inputs = {f64({0, 5}), i64({0}), f64({0})}, .build = picked},
      {.name = "picked_complex", .inputs = {c64({4, 5}), i8({4}), c64({4})}, .build = picked},
      {.name = "picked_of_zeros",
       .inputs = {i64({6}), f32({6})},
       .build =
           [](In in) {
             return std::vector{scatter_add_rows(zeros({6, 5}, DType::kFloat32), in[0], in[1])};
           }},
      {.name = "two_axes", .inputs = {f64({5, 5}), i64({9}), i64({9}), f64({9})}, .build = at, .int_low = -5},
      {.name = "two_axes_of_rows",
       .inputs = {f32({5, 5, 19}), i64({4}), i32({4}), f32({4, 19})},
       .build = at,
       .int_low = -5},
      {.name = "outer", .inputs = {f64({7, 5}), i64({4, 1}), i64({3}), f64({4, 3})}, .build = at},
      {.name = "in_the_middle",
       .inputs = {f64({2, 5, 3, 2}), i64({4}), i64({4}), f64({2, 4, 2})},
       .build = in_the_middle,
       .int_low = -3,
       .int_high = 3},
      {.name = "along_rows", .inputs = {f64({4, 5}), i64({4, 7}), f64({4, 7})}, .build = along(1), .int_low = -4},
      {.name = "along_columns", .inputs = {f32({3, 9}), i32({5, 9}), f32({5, 9})}, .build = along(0), .int_high = 3},
      {.name = "along_nothing", .inputs = {f64({4, 5}), i64({4, 0}), f64({4, 0})}, .build = along(1)},
      {.name = "set_rows", .inputs = {f64({4, 3}), f64({2, 3})}, .build = replaced_at({3, 0}, 0)},
      {.name = "set_wide_rows", .inputs = {f32({4, 21}), f32({3, 21})}, .build = replaced_at({1, 0, -2}, 0)},
      {.name = "set_columns", .inputs = {f32({3, 5}), f32({3, 2})}, .build = replaced_at({3, 1}, 1)},
      {.name = "set_elements", .inputs = {f64({5}), f64({3})}, .build = replaced_at({0, 2, 3}, 0)},
      {.name = "set_repeated",
       .inputs = {f64({3, 2}), i64({7}), f64({7, 2})},
       .build = set,
       .int_low = -3,
       .int_high = 3},
      {.name = "set_wide_repeated",
       .inputs = {f32({3, 21}), i32({5}), f32({5, 21})},
       .build = set,
       .int_low = -3,
       .int_high = 3},
      {.name = "set_along", .inputs = {f64({3, 4}), i64({3, 6}), f64({3, 6})}, .build = set_along, .int_low = -4},
      {.name = "set_none", .inputs = {f64({5, 3}), f64({0, 3})}, .build = replaced_at({}, 0)},
      {.name = "set_bools", .inputs = {bools({5}), bools({2})}, .build = replaced_at({1, 4}, 0)},
  };
}

}  // namespace

static Expr scattered_in_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                        const std::vector<bool>& varies) {
  if (node.props.get_or<bool>("along", false)) return kLaterAxesThatMayFail.all(node, iterations, inputs, varies);
  std::vector<Expr> all = with_iterations(node, iterations, inputs, varies);
  Props props = node.props;
  if (is_by_row(node)) {
    const Dims& lengths = node.inputs[0].dims();
    const Dim rows = iterations * lengths[0];
    all[0] = reshape(all[0], {rows, lengths[1]});
    for (size_t i = 1; i < all.size(); ++i) all[i] = reshape(all[i], {rows});
    return reshape(apply(scatter_op(), std::move(all), std::move(props)), {iterations, lengths[0], lengths[1]});
  }
  constexpr std::ptrdiff_t kFirst = kScattered + 1;
  if (std::find(varies.begin() + kFirst, varies.end(), true) == varies.end()) {
    props.set("axes", later(props.get<Ints>("axes")));
    std::copy(inputs.begin() + kFirst, inputs.end(), all.begin() + kFirst);
    return apply(scatter_op(), std::move(all), std::move(props));
  }
  IterationsOfIndices indices(node, iterations, inputs.subspan(kFirst), varies, kFirst);
  std::vector<Expr> now{transpose(all[0], indices.x_order), transpose(all[kScattered], indices.element_order)};
  now.insert(now.end(), indices.inputs.begin(), indices.inputs.end());
  props.set("axes", indices.axes);
  return transpose(apply(scatter_op(), std::move(now), std::move(props)), inverse_of(indices.x_order));
}
static constexpr IterationsRule kScatterOfIterations{.all = scattered_in_all_iterations, .may_fail = true};

const Op& scatter_op() {
  static const Op op{
      .name = "scatter",
      .doc =
          "x with y[a, i, c] added to x[a, indices_0[i], indices_1[i], ..., c], or with `set` stored there: the "
          "elements that gather reads, or along an axis those of take_along_axis, for one i after the other in "
          "row-major order.\n"
          "Shapes: x and y as the x and y of gather.\n"
          "dtypes: x and y the same, numbers where they are added; indices any integer.\n"
          "Gradient: of x the cotangent, with 0 at the indices where that was set; of y the cotangent's elements "
          "there; indices have none.\n"
          "Edge cases: indices outside their axes fail before anything is written. An element that is named several "
          "times is added to in order, in its own dtype: the same bits every time. Where it is set, the last value "
          "stays, and the others get the cotangent 0.\n"
          "Example: [0, 0, 0] with 1 and 2 added at [1, 1]: [0, 3, 0]",
      .called = name_of_scatter,
      .infer = infer_scatter,
      .reference = reference_scatter,
      .error = error_of_scatter,
      .gradient = gradient_scatter,
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { write_scatter(b, b.node(), given_elements(b)); },
      .scatter = write_scatter,
      .iterations = &kScatterOfIterations,
      .aliases = {{.output = 0, .input = 0}},
      .cost = scatter_cost,
      .connection = [](const Node&, size_t input, size_t) { return input <= kScattered; },
      .cases = cases_scatter};
  return op;
}

Expr scatter_like(const Node& like, const Expr& x, const Expr& y, bool set, std::source_location where) {
  const size_t count = like.props.get<Ints>("axes").size();
  std::vector<Expr> inputs{x, y};
  inputs.insert(inputs.end(), like.inputs.end() - static_cast<std::ptrdiff_t>(count), like.inputs.end());
  Props props = like.props;
  props.set("set", set);
  return apply(scatter_op(), std::move(inputs), std::move(props), where);
}

Expr scatter_add(const Operand& operand, const Operand& indices, const Operand& added, int64_t axis) {
  const Expr x = operand.expr(), which = indices.expr();
  const auto at = static_cast<int64_t>(axis_of(axis, x, "scatter_add", operand.where()));
  const Props props{{"axes", Ints{at}}, {"set", false}};
  const Dims dims = axes_of_elements(props, x.rank(), which.rank()).dims(x.dims(), which.dims());
  const Expr y = broadcast_for(Operand(added.for_dtype(x.dtype()), added.where()), dims, "scatter_add");
  return apply(scatter_op(), {x, y, which}, props, operand.where());
}

Expr scatter_add_along_axis(const Operand& operand, const Operand& indices, const Operand& added, int64_t axis) {
  const Expr x = operand.expr(), which = indices.expr();
  const auto at = static_cast<int64_t>(axis_of(axis, x, "scatter_add_along_axis", operand.where()));
  const Expr y =
      broadcast_for(Operand(added.for_dtype(x.dtype()), added.where()), which.dims(), "scatter_add_along_axis");
  return apply(scatter_op(), {x, y, which}, {{"axes", Ints{at}}, {"along", true}, {"set", false}}, operand.where());
}

Expr scatter_add_rows(const Operand& operand, const Operand& columns, const Operand& added, Negative negative) {
  const Expr x = operand.expr();
  const Expr y = broadcast_for(Operand(added.for_dtype(x.dtype()), added.where()),
                               x.rank() == 0 ? Dims{} : Dims{x.dims()[0]}, "scatter_add_rows");
  Props props = by_row_props(negative);
  props.set("set", false);
  return apply(scatter_op(), {x, y, columns.expr()}, std::move(props), operand.where());
}

}  // namespace thtrain
