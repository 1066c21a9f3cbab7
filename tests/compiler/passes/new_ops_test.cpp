// Ops that are defined here, and in no list: passes fuse them by their contract alone, without a line of their own.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/accumulation.h"
#include "compiler/ops/elemwise/indexed_axes.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/loop_form.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/in_place.h"
#include "tests/support/native_program.h"
#include "tests/support/numbers.h"
#include "tests/support/steps.h"

namespace thtrain::new_ops_test {
namespace {

Expr floats(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kFloat64, .dims = std::move(dims)}, name);
}
Expr indices(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kInt64, .dims = std::move(dims)}, name);
}

Graph optimized(const std::vector<Expr>& outputs) {
  Graph after = optimize({leaves_of(outputs), outputs, {}}, {});
  verify(after, "the passes");
  return after;
}

Steps steps(const std::vector<Expr>& outputs) {
  return steps_of(optimized(outputs));
}

Tensor values(Dims dims) {
  return numbers({.dtype = DType::kFloat64, .dims = std::move(dims)}, 1);
}

// Native code against the reference.
void expect_values(const std::vector<Expr>& inputs, const Expr& output, const std::vector<Tensor>& at) {
  std::vector<std::pair<Expr, Tensor>> bound;
  for (size_t i = 0; i < inputs.size(); ++i) bound.emplace_back(inputs[i], at[i]);
  const Tensor native = NativeProgram({inputs, {output}, {}}, usual_width("g++"))(at)[0];
  EXPECT_FALSE(difference(native, evaluate({output}, bound)[0], 16));
}

// ---- a gather ------------------------------------------------------------------------------------------------------

// y[j] = x[rows[j], j]: x [m, n], rows [n], y [n].
const Op& of_columns_op() {
  static const Op op{
      .name = "of_columns",
      .doc = "y[j] = x[rows[j], j]",
      .infer = [](const TypeArgs& a) { return std::vector<Type>{{.dtype = a.type(0).dtype, .dims = a.type(1).dims}}; },
      .reference =
          [](const ReferenceArgs& a) {
            Tensor out = a.make_output();
            for (int64_t j = 0; j < out.size(); ++j)
              out.data<double>()[j] = a.inputs[0].at<double>({a.inputs[1].as_int(j), j});
            return std::vector<Tensor>{out};
          },
      .calls_reference = true,
      .gather =
          [](const Node&) {
            return IndexedAxes{
                .axes = {{.of_x = 1, .of_indices = 0}},
                .named = {0},
                .checks = {{.what = "of_columns: the row {value} is not there", .expected = "0 <= row < {limit}"}}};
          }};
  return op;
}

TEST(NewOps, AGatherIsALoadOfTheLoopThatReadsIt) {
  const Expr x = floats({5, 37}, "x"), rows = indices({37}, "rows"), picked = apply(of_columns_op(), {x, rows});
  EXPECT_EQ(steps({sqr(picked) + 1.0}), Steps{"fused"});
  EXPECT_EQ(steps({sum(sqr(picked))}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({sqr(apply(of_columns_op(), {exp(x), rows}))}), (Steps{"fused", "fused"}))
      << "what it reads from is computed before";
  Tensor labels = Tensor::empty(DType::kInt64, {37});
  for (int64_t j = 0; j < 37; ++j) labels.data<int64_t>()[j] = (3 * j) % 5;
  expect_values({x, rows}, sqr(picked) + 1.0, {values({5, 37}), labels});
  expect_values({x, rows}, sum(sqr(picked)), {values({5, 37}), labels});
  const Graph graph = optimized({sqr(picked) + 1.0});
  const Node& loop = graph.outputs[0].node();
  for (size_t i = 0; i < loop.inputs.size(); ++i) EXPECT_EQ(access_of(loop, i), Access::kIndexed) << i;
}

// ---- a scatter -----------------------------------------------------------------------------------------------------

// y = x with y[i, i] = v[i]: x [n, n], v [n].
const Op& set_diagonal_op() {
  static constexpr auto write = [](kernel::StepBuilder& b, const Node&, const Elements& elements) {
    if (!b.overwrites(0)) copy_kernel(b, 0, "out0 = in0, before its diagonal is written", true);
    const kernel::Operand out = b.output();
    kernel::Nest nest(elements.dims);
    nest.store({out, {out.layout.strides[0] + out.layout.strides[1]}}, elements.add_to(nest));
    nest.work = elements.work;
    kernel::schedule(b, nest, elements.name + "set_diagonal", "out0[i, i] = " + elements.text);
  };
  static const Op op{.name = "set_diagonal",
                     .doc = "y = x with y[i, i] = v[i]",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .reference =
                         [](const ReferenceArgs& a) {
                           Tensor out = a.inputs[0].copy();
                           for (int64_t i = 0; i < out.dim(0); ++i) out.at<double>({i, i}) = a.inputs[1].as_double(i);
                           return std::vector<Tensor>{out};
                         },
                     .lower = [](kernel::StepBuilder& b) { write(b, b.node(), given_elements(b)); },
                     .scatter = write,
                     .aliases = {{.output = 0, .input = 0}}};
  return op;
}

TEST(NewOps, AScatterStoresWhatALoopComputes) {
  const Expr x = floats({19, 19}, "x"), v = floats({19}, "v"), out = apply(set_diagonal_op(), {x, tanh(v) * 2.0});
  EXPECT_EQ(steps({out}), Steps{"fused_scatter"});
  expect_values({x, v}, out, {values({19, 19}), values({19})});
  const Graph graph = optimized({out});
  EXPECT_TRUE(may_overwrite(graph.outputs[0].node(), 0, 0));
  EXPECT_FALSE(may_overwrite(graph.outputs[0].node(), 0, 1));
}

// ---- an op of elementwise ops and reductions -----------------------------------------------------------------------

// y[i, j] = x[i, j] / sum_k x[i, k]
const Op& shares_op() {
  static const Op op{.name = "shares",
                     .doc = "y[i, j] = x[i, j] / sum_k x[i, k]",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .reference =
                         [](const ReferenceArgs& a) {
                           Tensor out = a.make_output();
                           for (int64_t i = 0; i < out.dim(0); ++i) {
                             double total = 0;
                             for (int64_t j = 0; j < out.dim(1); ++j) total += a.inputs[0].at<double>({i, j});
                             for (int64_t j = 0; j < out.dim(1); ++j)
                               out.at<double>({i, j}) = a.inputs[0].at<double>({i, j}) / total;
                           }
                           return std::vector<Tensor>{out};
                         },
                     .calls_reference = true,
                     .access = [](const Node&, size_t) { return Access::kRow; },
                     .expand = [](const Node&, std::span<const Expr> in) { return in[0] / sum(in[0], 1, true); }};
  return op;
}

TEST(NewOps, AnOpThatExpandsIsPartOfItsNeighboursLoop) {
  const Expr x = floats({7, 30}, "x"), out = sqr(apply(shares_op(), {exp(x)}));
  EXPECT_EQ(steps({out}), Steps{"fused_reduction"});
  expect_values({x}, out, {values({7, 30})});
}

// ---- an elementwise op ---------------------------------------------------------------------------------------------

const Op& cube_op() {
  static const ScalarOp record{
      .name = "cube",
      .doc = "x^3",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return x * x * x; }),
      .code = [](std::span<const kernel::Term> x, const Signature&) { return std::vector{x[0] * x[0] * x[0]}; }};
  static const Op& op = define_elementwise(record);
  return op;
}

TEST(NewOps, AnElementwiseOpIsFusedByItsRecord) {
  const Expr x = floats({7, 30}, "x"), out = tanh(apply(cube_op(), {x})) + 1.0;
  EXPECT_EQ(steps({out}), Steps{"fused"});
  EXPECT_EQ(steps({sum(out, 1)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({apply(set_diagonal_op(), {floats({7, 7}, "y"), apply(cube_op(), {floats({7}, "v")})})}),
            Steps{"fused_scatter"});
  expect_values({x}, out, {values({7, 30})});
}

// ---- a product with forms ------------------------------------------------------------------------------------------

// y + alpha v v^T, which is what plus_square(v) adds itself to.
const Op& plus_square_op() {
  static const Op op{
      .name = "plus_square",
      .doc = "y + alpha v v^T: y [n, n], alpha [], v [n]",
      .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
      .reference =
          [](const ReferenceArgs& a) {
            Tensor out = a.inputs[0].copy();
            for (int64_t i = 0; i < out.dim(0); ++i)
              for (int64_t j = 0; j < out.dim(1); ++j)
                out.at<double>({i, j}) += a.inputs[1].as_double() * a.inputs[2].as_double(i) * a.inputs[2].as_double(j);
            return std::vector<Tensor>{out};
          },
      .calls_reference = true};
  return op;
}

const Op& square_op() {
  static constexpr Accumulation kInto{
      [](const Node&) { return true; },
      [](const Node&, std::span<const Expr> inputs, const Expr& y, const Expr& alpha, const Expr& beta) {
        return apply(plus_square_op(), {constant_number(beta) == 1.0 ? y : beta * y, alpha, inputs[0]});
      }};
  static const Op op{.name = "square",
                     .doc = "v v^T: v [n]",
                     .infer =
                         [](const TypeArgs& a) {
                           const Dim n = a.type(0).dims[0];
                           return std::vector<Type>{{.dtype = DType::kFloat64, .dims = {n, n}}};
                         },
                     .reference =
                         [](const ReferenceArgs& a) {
                           Tensor out = a.make_output();
                           for (int64_t i = 0; i < out.dim(0); ++i)
                             for (int64_t j = 0; j < out.dim(1); ++j)
                               out.at<double>({i, j}) = a.inputs[0].as_double(i) * a.inputs[0].as_double(j);
                           return std::vector<Tensor>{out};
                         },
                     .calls_reference = true,
                     .accumulation = &kInto};
  return op;
}

TEST(NewOps, AnOpThatAccumulatesTakesInTheSumAroundIt) {
  const Expr y = floats({5, 5}, "y"), v = floats({5}, "v"), out = y - apply(square_op(), {v}) * 3.0;
  EXPECT_EQ(steps({out}), Steps{"plus_square"});
  const std::vector<std::pair<Expr, Tensor>> at{{y, values({5, 5})}, {v, values({5})}};
  EXPECT_FALSE(difference(evaluate(optimized({out}).outputs, at)[0], evaluate({out}, at)[0], 16));
}

// The lengths of a matrix's rows: alone a step of its own, with an update of the matrix a part of the loop.
const Op& row_norms_op() {
  static constexpr LoopForm kForm{"row_norms", [](const Node& node) { return std::optional(node.inputs[0]); },
                                  [](std::span<const Expr> inputs) { return sum(sqr(inputs[0]), 1); }};
  static const Op op{
      .name = "row_norms",
      .doc = "y[i] = sum_j x[i, j]^2",
      .infer =
          [](const TypeArgs& a) { return std::vector<Type>{{.dtype = DType::kFloat64, .dims = {a.type(0).dims[0]}}}; },
      .reference =
          [](const ReferenceArgs& a) {
            Tensor out = a.make_output();
            for (int64_t i = 0; i < a.inputs[0].dim(0); ++i)
              for (int64_t j = 0; j < a.inputs[0].dim(1); ++j)
                out.data<double>()[i] += a.inputs[0].at<double>({i, j}) * a.inputs[0].at<double>({i, j});
            return std::vector<Tensor>{out};
          },
      .calls_reference = true,
      .loop_form = &kForm};
  return op;
}

TEST(NewOps, AnOpWithALoopFormJoinsTheLoopOverTheArrayThatItReads) {
  const Expr w = floats({200, 300}, "w"), norms = apply(row_norms_op(), {w});
  EXPECT_EQ(steps({norms}), Steps{"row_norms"}) << "nothing else runs over w";
  EXPECT_EQ(steps({norms, w * 0.5}), Steps{"fused_reduction"});
  const Expr small = floats({20, 30}, "small");
  EXPECT_EQ(steps({apply(row_norms_op(), {small}), small * 0.5}).size(), 2) << "what is in the caches is read twice";
}

}  // namespace
}  // namespace thtrain::new_ops_test
