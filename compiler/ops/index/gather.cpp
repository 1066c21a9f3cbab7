// Reading elements that integers name along some axes.
#include "compiler/ops/index/gather.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

static const Ints& named_axes(const Props& props) {
  return props.get<Ints>("axes");
}

static bool is_by_row(const Props& props) {
  return props.get_or<bool>("by_row", false);
}

bool is_by_row(const Node& node) {
  return is_by_row(node.props);
}

static bool is_along(const Props& props) {
  return props.get_or<bool>("along", false);
}

// Elements lie over the rows that x and the indices share, the axes before the named ones, those of the indices, and
// those after the named ones. Along an axis they share all others.
IndexedAxes axes_of_elements(const Props& props, size_t rank, size_t rank_of_indices) {
  IndexedAxes out;
  for (int64_t axis : named_axes(props)) out.named.push_back(static_cast<size_t>(axis));
  if (is_along(props)) {
    for (size_t i = 0; i < rank; ++i) out.axes.push_back({.of_x = i, .of_indices = i});
    out.axes[out.named.front()].of_x = {};
    return out;
  }
  const size_t shared = is_by_row(props) ? 1 : 0;
  for (size_t i = 0; i < shared; ++i) out.axes.push_back({.of_x = i, .of_indices = i});
  for (size_t i = shared; i < out.named.front(); ++i) out.axes.push_back({.of_x = i});
  for (size_t i = shared; i < rank_of_indices; ++i) out.axes.push_back({.of_indices = i});
  for (size_t i = out.named.back() + 1; i < rank; ++i) out.axes.push_back({.of_x = i});
  return out;
}

Props by_row_props(Negative negative) {
  Props props{{"axes", Ints{1}}, {"by_row", true}};
  if (negative == Negative::kRefused) props.set("labels", true);
  return props;
}

IndexedAxes indexed_axes_of(const Node& node) {
  const Expr& x = node.inputs[0];
  IndexedAxes out = axes_of_elements(node.props, x.rank(), node.inputs.back().rank());
  out.reports_row = is_by_row(node);
  const bool are_labels = node.props.get_or<bool>("labels", false);
  const std::string word = are_labels ? "label" : "index", name = name_in_errors(*node.op, node.props);
  // Where a batching rule has added an axis in front, the user's are the last ones.
  Ints shown = named_axes(node.props);
  const Ints users = node.props.get_or<Ints>("shown", {});
  std::copy(users.begin(), users.end(), shown.end() - static_cast<std::ptrdiff_t>(users.size()));
  for (size_t k = 0; k < out.named.size(); ++k) {
    const Dim& length = x.dims()[out.named[k]];
    const std::string limit = !out.reports_row    ? "{limit}"
                              : length.is_known() ? std::to_string(length.value())
                                                  : readable(length.text());
    out.checks.push_back({.what = out.reports_row ? str(name, ": the ", word, " of row {limit} is {value}")
                                                  : str(name, ": the ", word, " {value} is outside axis ", shown[k]),
                          .expected = str(are_labels ? "0" : "-" + limit, " <= ", word, " < ", limit),
                          .from_end = !are_labels});
  }
  return out;
}

Dims indexed_dims(const TypeArgs& args, size_t first) {
  const Type& x = args.type(0);
  const Ints& named = named_axes(args.props);
  const bool by_row = is_by_row(args.props);
  args.require(!named.empty() && args.inputs.size() == first + named.size(), "the indices of an axis are missing",
               "an index tensor for each of the axes");
  args.require(!by_row || (x.rank() == 2 && named == Ints{1}), "x is not a matrix",
               "a row for each label, a column for each class");
  const Type& indices = args.type(first);
  for (size_t k = 0; k < named.size(); ++k) {
    const Type& now = args.type(first + k);
    args.require(named[k] >= 0 && named[k] < static_cast<int64_t>(x.rank()), "there is no such axis",
                 str("axes from 0 to ", x.rank(), " (without)"));
    args.require(named[k] == named[0] + static_cast<int64_t>(k), "the axes do not follow each other");
    if (by_row)
      args.require(now.rank() == 1 && is_int(now.dtype), "the labels are not an integer vector",
                   "one label for each row");
    args.require(is_int(now.dtype), "the indices are not integers", "an integer dtype");
    args.require(now.rank() == indices.rank(), "the indices have different numbers of axes");
    for (size_t i = 0; i < now.rank(); ++i)
      args.require_equal(now.dims[i], indices.dims[i], str("the indices differ in axis ", i));
  }
  if (by_row) args.require_equal(x.dims[0], indices.dims[0], "the number of rows and the number of labels differ");
  if (is_along(args.props)) {
    args.require(named.size() == 1 && indices.rank() == x.rank(), "the indices have another number of axes than x",
                 str(x.rank(), " axes"));
    for (size_t i = 0; i < x.rank(); ++i)
      if (static_cast<int64_t>(i) != named[0])
        args.require_equal(x.dims[i], indices.dims[i], str("x and the indices differ in axis ", i));
  }
  return axes_of_elements(args.props, x.rank(), indices.rank()).dims(x.dims, indices.dims);
}

void for_each_named(const ReferenceArgs& args,
                    const std::function<void(const Shape& element, const Shape& in_x)>& visit) {
  const Node& node = args.node;
  const IndexedAxes form = indexed_axes_of(node);
  const Shape& x = args.inputs[0].shape();
  const std::span<const Tensor> indices = args.inputs.last(form.named.size());
  const Shape& shape = indices[0].shape();
  if (is_by_row(node)) require_same_shape(node, {x[0]}, shape, "the number of rows and the number of labels differ");
  if (is_along(node.props)) {
    Shape without = shape;
    without[form.named[0]] = x[form.named[0]];
    require_same_shape(node, x, without, "x and the indices differ in another axis");
  }
  const auto position = [&](size_t k, int64_t i) {
    return checked_position(node, form.checks[k], indices[k].dtype(), indices[k].as_int(i), x[form.named[k]],
                            form.reports_row ? std::optional(i) : std::nullopt);
  };
  for (size_t k = 0; k < indices.size(); ++k) {
    require_same_shape(node, shape, indices[k].shape(), "the indices have different shapes");
    for (int64_t i = 0; i < indices[k].size(); ++i) position(k, i);
  }
  for_each_index(form.dims(x, shape), [&](const Shape& element) {
    Shape in_x(x.size()), in_indices(shape.size());
    for (size_t i = 0; i < element.size(); ++i) {
      if (form.axes[i].of_x) in_x[*form.axes[i].of_x] = element[i];
      if (form.axes[i].of_indices) in_indices[*form.axes[i].of_indices] = element[i];
    }
    for (size_t k = 0; k < indices.size(); ++k) in_x[form.named[k]] = position(k, indices[k].offset(in_indices));
    visit(element, in_x);
  });
}

std::string indices_text(const Node& node, size_t first) {
  std::string out = str("in", first);
  for (size_t k = 1; k < named_axes(node.props).size(); ++k) out += str(", in", first + k);
  return out;
}

namespace {

std::vector<Tensor> reference_gather(const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_named(args, [&](const Shape& element, const Shape& in_x) {
      out.data<T>()[out.offset(element)] = x.data<T>()[x.offset(in_x)];
    });
  });
  return {out};
}

void lower_gather(kernel::StepBuilder& b) {
  const Node& node = b.node();
  const IndexedAxes form = indexed_axes_of(node);
  std::vector<kernel::Operand> indices;
  for (size_t i = 1; i < node.inputs.size(); ++i) indices.push_back(b.input(i));
  const bool checked = !loops_check_indices(b, form, node.types[0].dims, true);
  if (checked) check_indices(b, node, form, indices);
  const kernel::Operand out = bits_of(b.output());
  kernel::Nest nest(out.type.dims);
  const kernel::Location from =
      indexed_location(nest, node, form, out.type.dims, bits_of(b.input(0)), indices, checked);
  nest.store(kernel::placed(out), nest.load("x", from));
  nest.work = kMoveWork;
  kernel::schedule(b, nest, node.op->name, str("elements of in0 at ", indices_text(node, 1)));
}

std::vector<OpCase> cases_gather() {
  using In = const std::vector<Expr>&;
  auto taken = [](int64_t axis) { return [axis](In in) { return std::vector{take(in[0], in[1], axis)}; }; };
  auto picked = [](In in) { return std::vector{pick_rows(in[0], in[1])}; };
  auto at = [](In in) { return std::vector{in[0][{in[1], in[2]}]}; };
  auto along = [](int64_t axis) { return [axis](In in) { return std::vector{take_along_axis(in[0], in[1], axis)}; }; };
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto ints = [](DType dtype, Dims dims) { return Type{.dtype = dtype, .dims = std::move(dims)}; };
  auto i64 = [](Dims dims) { return Type{.dtype = DType::kInt64, .dims = std::move(dims)}; };
  const Type bools{.dtype = DType::kBool, .dims = {5, 3}};
  return {
      {.name = "rows", .inputs = {f64({6, 3}), i64({4})}, .build = taken(0), .int_low = -6, .int_high = 5},
      {.name = "wide_rows", .inputs = {f32({5, 21}), ints(DType::kInt32, {7})}, .build = taken(0), .int_low = -4},
      {.name = "columns", .inputs = {f32({3, 6}), ints(DType::kInt8, {2})}, .build = taken(-1), .int_low = -3},
      {.name = "middle", .inputs = {f64({2, 5, 3}), i64({2, 4})}, .build = taken(1), .int_low = -3},
      {.name = "one", .inputs = {f64({5, 3}), ints(DType::kUInt8, {})}, .build = taken(0)},
      {.name = "elements", .inputs = {f64({7}), ints(DType::kUInt64, {5})}, .build = taken(0)},
      {.name = "of_transposed",
       .inputs = {f32({3, 5}), i64({2})},
       .build = [](In in) { return std::vector{take(transpose(in[0]), in[1])}; }},
      {.name = "none", .inputs = {f64({5, 3}), i64({0})}, .build = taken(0)},
      {.name = "of_empty_rows", .inputs = {f32({5, 0}), i64({2})}, .build = taken(0)},
      {.name = "bools", .inputs = {bools, i64({2})}, .build = taken(0)},
      {.name = "of_columns", .inputs = {f64({6, 1}), ints(DType::kInt16, {1, 3, 1})}, .build = taken(0)},
      {.name = "picked", .inputs = {f64({7, 5}), i64({7})}, .build = picked},
      {.name = "picked_float32", .inputs = {f32({3, 10}), ints(DType::kInt32, {3})}, .build = picked},
      {.name = "picked_of_one_row", .inputs = {f64({1, 6}), ints(DType::kUInt8, {1})}, .build = picked},
      {.name = "picked_of_no_rows", .inputs = {f64({0, 5}), i64({0})}, .build = picked},
      {.name = "picked_ints", .inputs = {ints(DType::kInt16, {4, 5}), ints(DType::kInt8, {4})}, .build = picked},
      {.name = "picked_from_end", .inputs = {f32({7, 4}), ints(DType::kInt8, {7})}, .build = picked, .int_low = -4},
      {.name = "picked_labels",
       .inputs = {f64({4, 5}), i64({4})},
       .build = [](In in) { return std::vector{pick_rows(in[0], in[1], Negative::kRefused)}; }},
      {.name = "picked_of_transposed",
       .inputs = {f32({5, 3}), i64({3})},
       .build = [](In in) { return std::vector{pick_rows(transpose(in[0]), in[1])}; }},
      {.name = "along_rows", .inputs = {f64({4, 5}), i64({4, 3})}, .build = along(1), .int_low = -5, .int_high = 5},
      {.name = "along_columns", .inputs = {f32({5, 21}), ints(DType::kInt8, {7, 21})}, .build = along(0)},
      {.name = "along_middle", .inputs = {f64({2, 5, 3}), i64({2, 1, 3})}, .build = along(1)},
      {.name = "along_vector", .inputs = {ints(DType::kInt16, {6}), i64({9})}, .build = along(0)},
      {.name = "along_none", .inputs = {f64({4, 5}), i64({4, 0})}, .build = along(1)},
      {.name = "along_no_rows", .inputs = {f64({0, 5}), i64({0, 2})}, .build = along(1)},
      {.name = "along_of_transposed",
       .inputs = {f32({5, 3}), i64({3, 4})},
       .build = [](In in) { return std::vector{take_along_axis(transpose(in[0]), in[1], 1)}; }},
      {.name = "two_axes", .inputs = {f64({5, 6}), i64({9}), i64({9})}, .build = at, .int_low = -5},
      {.name = "two_axes_of_rows",
       .inputs = {f32({5, 6, 19}), ints(DType::kInt32, {3}), i64({3})},
       .build = at,
       .int_low = -5},
      {.name = "outer", .inputs = {f32({7, 5}), i64({4, 1}), ints(DType::kInt8, {3})}, .build = at, .int_low = -5},
      {.name = "two_axes_complex",
       .inputs = {{.dtype = DType::kComplex64, .dims = {5, 5, 2}}, i64({3}), i64({})},
       .build = at},
      {.name = "two_axes_in_the_middle",
       .inputs = {f32({3, 5, 6, 9}), i64({2, 1}), ints(DType::kInt8, {3})},
       .build =
           [](In in) {
             return std::vector{in[0][{all(), in[1], in[2]}]};
           },
       .int_low = -5},
      {.name = "two_axes_none", .inputs = {f64({5, 6}), i64({0}), i64({0})}, .build = at},
      {.name = "two_axes_of_empty_rows", .inputs = {f64({5, 6, 0}), i64({4}), i64({4})}, .build = at},
  };
}

}  // namespace

Ints later(Ints axes) {
  for (int64_t& axis : axes) ++axis;
  return axes;
}

IterationsOfIndices::IterationsOfIndices(const Node& node, const Dim& iterations, std::span<const Expr> indices,
                                         const std::vector<bool>& varies, size_t first) {
  const Ints& named = named_axes(node.props);
  const size_t rank = node.inputs[0].rank(), of_indices = node.inputs[first].rank(),
               before = static_cast<size_t>(named.front()), after = rank - before - named.size();
  auto add = [](Ints& order, size_t begin, size_t count) {
    for (size_t i = 0; i < count; ++i) order.push_back(static_cast<int64_t>(begin + i));
  };
  for (Ints* order : {&x_order, &element_order}) order->push_back(0);
  add(x_order, 1 + before, named.size());
  add(x_order, 1, before);
  add(x_order, 1 + before + named.size(), after);
  add(element_order, 1 + before, of_indices);
  add(element_order, 1, before);
  add(element_order, 1 + before + of_indices, after);
  for (size_t k = 0; k < named.size(); ++k)
    inputs.push_back(with_iterations(node.inputs[first + k], indices[k], iterations, varies[first + k]));
  Ints along_iterations(1 + of_indices, -1);
  along_iterations[0] = 0;
  const Expr numbers = dimshuffle(arange(length(inputs[0], 0)), along_iterations);
  inputs.insert(inputs.begin(), broadcast_to(numbers, inputs[0].dims()));
  for (size_t k = 0; k <= named.size(); ++k) axes.push_back(static_cast<int64_t>(k));
}

Ints inverse_of(const Ints& order) {
  Ints out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

static Expr gathered_in_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                       const std::vector<bool>& varies) {
  if (is_along(node.props)) return kLaterAxesThatMayFail.all(node, iterations, inputs, varies);
  const std::vector<Expr> all = with_iterations(node, iterations, inputs, varies);
  if (is_by_row(node)) {
    const Dim rows = iterations * node.inputs[0].dims()[0];
    const Expr picked =
        apply(gather_op(), {reshape(all[0], {rows, node.inputs[0].dims()[1]}), reshape(all[1], {rows})}, node.props);
    return reshape(picked, {iterations, node.inputs[0].dims()[0]});
  }
  if (std::find(varies.begin() + 1, varies.end(), true) == varies.end()) {
    Props props = node.props;
    props.set("axes", later(named_axes(node.props)));
    std::vector<Expr> now(inputs.begin(), inputs.end());
    return apply(gather_op(), std::move(now), std::move(props));
  }
  IterationsOfIndices indices(node, iterations, inputs.subspan(1), varies, 1);
  indices.inputs.insert(indices.inputs.begin(), transpose(all[0], indices.x_order));
  Props props = node.props;
  props.set("axes", indices.axes);
  return transpose(apply(gather_op(), std::move(indices.inputs), std::move(props)), inverse_of(indices.element_order));
}

static constexpr IterationsRule kGatherOfIterations{.all = gathered_in_all_iterations, .may_fail = true};

const Op& gather_op() {
  static const Op op{
      .name = "gather",
      .doc =
          "y[a, i, c] = x[a, indices_0[i], indices_1[i], ..., c]: index tensors of one shape [I] name elements along "
          "as many axes of x, which follow each other; a and c stand for the axes before and after these. by_row: y[i] "
          "= x[i, labels[i]]. along: y[a, i, c] = x[a, indices[a, i, c], c].\n"
          "Shapes: x [A, n_0, n_1, ..., C], y [A, I, C]; by_row: x [n, classes], labels and y [n]; along: indices and "
          "y [A, I, C].\n"
          "dtypes: x any, indices any integer.\n"
          "Gradient: the cotangent added into zeros at the indices (scatter); indices have none.\n"
          "Edge cases: negative indices count from the end, but for `labels`, where they are mistakes in the data; "
          "others outside the axis fail, whether or not an element is read through them.\n"
          "Example: [5, 6, 7] at [2, 0]: [7, 5]",
      .called =
          [](const Props& props) {
            return std::string(is_by_row(props)                ? "pick_rows"
                               : is_along(props)               ? "take_along_axis"
                               : named_axes(props).size() == 1 ? "take"
                                                               : "gather");
          },
      .infer =
          [](const TypeArgs& args) {
            return std::vector<Type>{{.dtype = args.type(0).dtype, .dims = indexed_dims(args, 1)}};
          },
      .reference = reference_gather,
      .error = moved_error,
      .gradient =
          [](const GradientArgs& args) {
            std::vector<Expr> out(args.node.inputs.size());
            out[0] = scatter_like(args.node, zeros_like(args.input(0)), args.cotangent(), false);
            return out;
          },
      .jvp = linear_jvp,
      .lower = lower_gather,
      .gather = indexed_axes_of,
      .iterations = &kGatherOfIterations,
      .cost =
          [](const Node& node) {
            return Cost{0, node.types[0].elements() * Dim(2 * static_cast<int64_t>(size_of(node.types[0].dtype)))};
          },
      .connection = [](const Node&, size_t input, size_t) { return input == 0; },
      .cases = cases_gather};
  return op;
}

Expr gather_like(const Node& like, const Expr& x) {
  const size_t count = named_axes(like.props).size();
  std::vector<Expr> inputs{x};
  inputs.insert(inputs.end(), like.inputs.end() - static_cast<std::ptrdiff_t>(count), like.inputs.end());
  Props props;
  for (const auto& [name, value] : like.props.all())
    if (name != "set" && name != "builder") props.set(name, value);
  return apply(gather_op(), std::move(inputs), std::move(props));
}

Expr take(const Operand& operand, const Operand& indices, int64_t axis, OutOfRange out_of_range) {
  const Expr x = operand.expr();
  Expr which = indices.expr();
  const auto at = static_cast<int64_t>(axis_of(axis, x, "take", operand.where()));
  const Origin origin = Origin::here(operand.where());
  if (out_of_range != OutOfRange::kRefused) {
    if (!is_int(which.dtype()))
      fail_build(indices.where(), "take: the indices are not integers", "an integer dtype", value_text(which));
    which = cast(Operand(which, indices.where()), DType::kInt64);
    InheritOrigin inherit(origin);
    const Expr n = length(x, at);
    which = out_of_range == OutOfRange::kWrapped ? mod(which, n) : clip(which, 0, n - 1);
  }
  return apply(gather_op(), {x, which}, {{"axes", Ints{at}}}, operand.where());
}

Expr take_along_axis(const Operand& operand, const Operand& indices, int64_t axis) {
  const Expr x = operand.expr();
  const auto at = static_cast<int64_t>(axis_of(axis, x, "take_along_axis", operand.where()));
  return apply(gather_op(), {x, indices.expr()}, {{"axes", Ints{at}}, {"along", true}}, operand.where());
}

Expr pick_rows(const Operand& x, const Operand& columns, Negative negative) {
  return apply(gather_op(), {x.expr(), columns.expr()}, by_row_props(negative), x.where());
}

Expr gather(const Expr& x, const std::vector<Operand>& indices, size_t first, const Ints& shown, bool distinct) {
  Ints axes;
  std::vector<Expr> inputs{x};
  Dims dims;
  for (const Operand& operand : indices) {
    const Expr now = operand.expr();
    axes.push_back(static_cast<int64_t>(first + axes.size()));
    inputs.push_back(now);
    if (now.rank() > dims.size()) dims.insert(dims.begin(), now.rank() - dims.size(), Dim(1));
    for (size_t i = 0; i < now.rank(); ++i)
      if (Dim& dim = dims[dims.size() - now.rank() + i]; dim.is(1)) dim = now.dims()[i];
  }
  for (size_t k = 0; k < indices.size(); ++k)
    inputs[k + 1] = broadcast_for(Operand(inputs[k + 1], indices[k].where()), dims, "gather");
  Props props{{"axes", axes}};
  if (!shown.empty() && shown != axes) props.set("shown", shown);
  if (distinct) props.set("distinct", true);
  return apply(gather_op(), std::move(inputs), std::move(props), indices[0].where());
}

}  // namespace thtrain
