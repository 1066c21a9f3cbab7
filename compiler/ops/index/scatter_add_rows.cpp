// Adding to one element of each row, the one that the row's label names.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/pick_rows.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

namespace {

std::vector<Type> infer_scatter_add_rows(const TypeArgs& args) {
  check_pick_rows(args);
  const Type &x = args.type(0), &y = args.type(2);
  args.require(!is_bool(x.dtype), "bools cannot be added to", "numbers");
  args.require(y.dtype == x.dtype, "the added value has another dtype", std::string(name_of(x.dtype)));
  args.require(y.rank() == 1, "the added value is not a vector", "one number for each row");
  args.require_equal(x.dims[0], y.dims[0], "the numbers of rows and of added values differ");
  return {x};
}

std::vector<Tensor> reference_scatter_add_rows(const ReferenceArgs& args) {
  const Tensor &labels = args.inputs[1], &y = args.inputs[2];
  Tensor out = args.inputs[0].copy();
  require_same_shape(args.node, {out.dim(0)}, labels.shape(), "the number of rows and the number of labels differ");
  require_same_shape(args.node, {out.dim(0)}, y.shape(), "the numbers of rows and of added values differ");
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.dim(0); ++i) {
      int64_t label =
          checked_position(args.node, label_check(args.node), labels.dtype(), labels.as_int(i), out.dim(1), i);
      T& element = out.at<T>({i, label});
      element = wrapping_add(element, y.data<T>()[i]);
    }
  });
  return {out};
}

void write_scatter_add_rows(kernel::StepBuilder& b, const Node& node, const Elements& added) {
  const kernel::Operand out = parts_of(b.output());
  const Dim& classes = node.inputs[0].dims()[1];
  check_kernel(b, node, 1, label_check(node), classes, true);
  if (!b.overwrites(0)) copy_kernel(b, 0, "out0 = in0, before an element of each row is added to", true);

  kernel::Nest nest(added.dims);  // the rows, and for complex numbers the parts
  kernel::Place label{b.input(1), Dims(added.dims.size(), Dim(0))}, target{out, label.strides};
  if (!added.dims[0].is(1)) label.strides[0] = b.input(1).layout.strides[0];
  if (!added.dims[0].is(1)) target.strides[0] = out.layout.strides[0];
  if (added.dims.size() > 1) target.strides[1] = 1;
  const kernel::Term column = nest.position(index_at(node, label_check(node), label, classes, false));
  target = target.at(column, out.layout.strides[1]);
  const kernel::Term before = nest.load("before", target);
  nest.store(target, nest.let("sum", before + added.add_to(nest)));
  nest.work = added.work;
  kernel::schedule(b, nest, added.name + "scatter_add_rows", str("out0[i, in1[i]] += ", added.text));
}

const ScatterRule rule_scatter_add_rows{2, write_scatter_add_rows};

std::vector<OpCase> cases_scatter_add_rows() {
  auto build = [](const std::vector<Expr>& in) { return std::vector{scatter_add_rows(in[0], in[1], in[2])}; };
  auto row = [&](const char* name, DType dtype, Dims dims, DType labels) {
    return OpCase{.name = name,
                  .inputs = {{.dtype = dtype, .dims = dims},
                             {.dtype = labels, .dims = {dims[0]}},
                             {.dtype = dtype, .dims = {dims[0]}}},
                  .build = build};
  };
  return {
      row("float64", DType::kFloat64, {7, 5}, DType::kInt64),
      row("float32", DType::kFloat32, {3, 10}, DType::kInt32),
      row("one_row", DType::kFloat64, {1, 6}, DType::kUInt8),
      row("no_rows", DType::kFloat64, {0, 5}, DType::kInt64),
      row("complex", DType::kComplex64, {4, 5}, DType::kInt8),
      {.name = "of_zeros",
       .inputs = {{.dtype = DType::kInt64, .dims = {6}}, {.dtype = DType::kFloat32, .dims = {6}}},
       .build =
           [](const std::vector<Expr>& in) {
             return std::vector{scatter_add_rows(zeros({6, 5}, DType::kFloat32), in[0], in[1])};
           }},
  };
}

}  // namespace

const Op& scatter_add_rows_op() {
  static const Op op{
      .name = "scatter_add_rows",
      .doc =
          "x with y[i] added to x[i, labels[i]].\n"
          "Shapes: x [n, classes], labels [n], y [n]. A label outside [0, classes) fails before anything is written; "
          "with\n"
          "from_end negative ones count from the end.\n"
          "dtypes: x and y the same numbers, labels any integer.\n"
          "Gradient: of x the cotangent, of y its elements at the labels; labels have none.",
      .infer = infer_scatter_add_rows,
      .reference = reference_scatter_add_rows,
      .error = [](const ErrorArgs& a) { return multilinear_error(a, 1); },
      .gradient =
          [](const GradientArgs& args) {
            return std::vector{args.cotangent(), Expr(),
                               pick_rows(args.cotangent(), args.input(1), negative_of(args.node))};
          },
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { write_scatter_add_rows(b, b.node(), elements_of_input(b, 2)); },
      .scatter = &rule_scatter_add_rows,
      .aliases = {{.output = 0, .input = 0}},
      .cost = scatter_cost,
      .connection = is_no_index,
      .cases = cases_scatter_add_rows};
  return op;
}

Expr scatter_add_rows(const Operand& operand, const Operand& columns, const Operand& added, Negative negative) {
  Expr x = operand.expr();
  Expr y = broadcast_to(Operand(added.beside(x.dtype()), added.where()), x.rank() == 0 ? Dims{} : Dims{x.dims()[0]});
  return apply(scatter_add_rows_op(), {x, columns.expr(), y}, pick_rows_props(negative), operand.where());
}

}  // namespace thtrain
