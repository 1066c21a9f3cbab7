// Reading one element of each row, the one that the row's label names.
#include "compiler/ops/index/pick_rows.h"
#include "compiler/ops/elemwise/gather.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void check_pick_rows(const TypeArgs& args) {
  const Type &x = args.type(0), &labels = args.type(1);
  args.require(x.rank() == 2, "x is not a matrix", "a row for each label, a column for each class");
  args.require(labels.rank() == 1 && is_int(labels.dtype), "the labels are not an integer vector",
               "one label for each row");
  args.require_equal(x.dims[0], labels.dims[0], "the number of rows and the number of labels differ");
}

Negative negative_of(const Node& node) {
  return node.props.get_or<bool>("from_end", false) ? Negative::kFromEnd : Negative::kRefused;
}

Props pick_rows_props(Negative negative) {
  Props props;
  if (negative == Negative::kFromEnd) props.set("from_end", true);
  return props;
}

IndexCheck label_check(const Node& node) {
  Dim classes = node.inputs[0].dims()[1];
  std::string bound = classes.is_known() ? std::to_string(classes.value()) : readable(classes.text());
  if (negative_of(node) == Negative::kFromEnd)
    return {.what = str(node.op->name, ": the index of row {limit} is {value}"),
            .expected = str("-", bound, " <= index < ", bound),
            .from_end = true};
  const std::string builder = node.props.get_or<std::string>("builder", node.op->name);
  return {.what = str(builder, ": the label of row {limit} is {value}"), .expected = str("0 <= label < ", bound)};
}

namespace {

std::vector<Tensor> reference_pick_rows(const ReferenceArgs& args) {
  const Tensor &x = args.inputs[0], &labels = args.inputs[1];
  Tensor out = args.make_output();
  require_same_shape(args.node, {x.dim(0)}, labels.shape(), "the number of rows and the number of labels differ");
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < x.dim(0); ++i) {
      int64_t label =
          checked_position(args.node, label_check(args.node), labels.dtype(), labels.as_int(i), x.dim(1), i);
      out.data<T>()[i] = x.at<T>({i, label});
    }
  });
  return {out};
}

void lower_pick_rows(kernel::StepBuilder& b) {
  lower_gather(b, "out0[i] = in0[i, in1[i]]");
}

constexpr GatherRule kGather_pick_rows{
    .source = 0,
    .indices = 1,
    .reads_rows = [](const Node&) { return false; },
    .steps =
        [](const Node& node, const kernel::Operand& x, const kernel::Operand& labels) {
          return GatherSteps{.axis = 1,
                             .check = label_check(node),
                             .reports_row = true,
                             .source = {x.layout.strides[0]},
                             .indices = {labels.layout.strides[0]}};
        }};

std::vector<OpCase> cases_pick_rows() {
  auto build = [](const std::vector<Expr>& in) { return std::vector{pick_rows(in[0], in[1])}; };
  auto row = [&](const char* name, DType dtype, Dims dims, DType labels) {
    return OpCase{
        .name = name, .inputs = {{.dtype = dtype, .dims = dims}, {.dtype = labels, .dims = {dims[0]}}}, .build = build};
  };
  return {
      row("float64", DType::kFloat64, {7, 5}, DType::kInt64),
      row("float32", DType::kFloat32, {3, 10}, DType::kInt32),
      row("one_row", DType::kFloat64, {1, 6}, DType::kUInt8),
      row("no_rows", DType::kFloat64, {0, 5}, DType::kInt64),
      row("ints", DType::kInt16, {4, 5}, DType::kInt8),
      {.name = "from_end",
       .inputs = {{.dtype = DType::kFloat32, .dims = {7, 4}}, {.dtype = DType::kInt8, .dims = {7}}},
       .build = build,
       .int_low = -4},
      {.name = "labels",
       .inputs = {{.dtype = DType::kFloat64, .dims = {4, 5}}, {.dtype = DType::kInt64, .dims = {4}}},
       .build = [](const std::vector<Expr>& in) { return std::vector{pick_rows(in[0], in[1], Negative::kRefused)}; }},
      {.name = "of_transposed",
       .inputs = {{.dtype = DType::kFloat32, .dims = {5, 3}}, {.dtype = DType::kInt64, .dims = {3}}},
       .build = [](const std::vector<Expr>& in) { return std::vector{pick_rows(transpose(in[0]), in[1])}; }},
  };
}

}  // namespace

const Op& pick_rows_op() {
  static const Op op{
      .name = "pick_rows",
      .doc =
          "y[i] = x[i, labels[i]], NumPy's x[arange(n), labels].\n"
          "Shapes: x [n, classes], labels [n], y [n]. A label outside [0, classes) fails when it is read, and the\n"
          "message names its row. With from_end negative ones count from the end; the cross-entropies leave it out,\n"
          "as a negative label is a mistake in the data.\n"
          "dtypes: x any, labels any integer. Gradient: the cotangent at the labels of zeros; labels have none.",
      .infer =
          [](const TypeArgs& args) {
            check_pick_rows(args);
            return std::vector<Type>{{.dtype = args.type(0).dtype, .dims = {args.type(0).dims[0]}}};
          },
      .reference = reference_pick_rows,
      .error = moved_error,
      .gradient =
          [](const GradientArgs& args) {
            return std::vector{
                scatter_add_rows(zeros_like(args.input(0)), args.input(1), args.cotangent(), negative_of(args.node)),
                Expr()};
          },
      .jvp = linear_jvp,
      .lower = lower_pick_rows,
      .gather = &kGather_pick_rows,
      .cost = gather_cost,
      .connection = is_no_index,
      .cases = cases_pick_rows};
  return op;
}

Expr pick_rows(const Operand& x, const Operand& columns, Negative negative) {
  return apply(pick_rows_op(), {x.expr(), columns.expr()}, pick_rows_props(negative), x.where());
}

}  // namespace thtrain
