// The op; its kernel is in lower_rows.cpp.
#include "compiler/ops/reduce/fused_reduction.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/fused_cases.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/reduce/row_axes.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

bool RowDomain::reduces(size_t axis) const {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

Dims RowDomain::dropped() const {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!reduces(i)) out.push_back(dims[i]);
  return out;
}

Dims RowDomain::kept() const {
  Dims out = dims;
  for (int64_t axis : axes) out[static_cast<size_t>(axis)] = 1;
  return out;
}

bool RowDomain::is_leading() const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(i)) return false;
  return true;
}

RowDomain domain_of(const Graph& body) {
  for (const Node* node : topological_order(body.outputs))
    if (reduction_of(*node->op)) return {node->inputs[0].dims(), node->props.get<Ints>("axes")};
  TH_CHECK(false, "a row-wise reduction without a reduction");
  return {};
}

std::shared_ptr<const Node> make_fused_reduction(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_reduction_op(), std::move(inputs), {}, {std::move(body)});
}

namespace {

using In = const std::vector<Expr>&;

// Bodies of every kind: several loops, both forms of a per-row scalar, several outputs, any axes.
const std::vector<FusedExample>& examples() {
  static const std::vector<FusedExample> out{
      {"sum_of_squares", {{7, 5}}, [](In x) { return std::vector{sum(sqr(x[0]))}; }},
      {"long_sum", {{3, 700}}, [](In x) { return std::vector{sum(sqr(x[0]), 1)}; }},
      {"softmax",
       {{5, 37}},
       [](In x) {
         Expr e = exp(x[0] - max(x[0], 1, true));
         return std::vector{e / sum(e, 1, true)};
       }},
      {"short_rows",
       {{37, 10}, {10}},
       [](In x) {
         Expr z = x[0] + x[1], away = z - max(z, 1, true);
         return std::vector{away - log(sum(exp(away), 1, true)), sum(z, 1)};
       }},
      {"layer_norm",
       {{4, 130}, {130}, {130}},
       [](In x) {
         Expr away = x[0] - sum(x[0], 1, true) / 130;
         return std::vector{x[1] * away / sqrt(sum(sqr(away), 1, true) / 130 + 1e-5) + x[2]};
       }},
      {"columns",
       {{30, 21}, {21}},
       [](In x) {
         Expr y = tanh(x[0]) * x[0];
         return std::vector{y, x[1] - 0.5 * sum(y, 0)};
       }},
      {"batch_norm",
       {{19, 35}},
       [](In x) {
         Expr away = x[0] - sum(x[0], 0) / 19;
         return std::vector{away / sqrt(sum(sqr(away), 0) / 19 + 1e-5)};
       }},
      {"dropped_then_used",
       {{6, 9}},
       [](In x) {
         return std::vector{x[0] * dimshuffle(log(sum(exp(x[0]), 1)), {0, -1})};
       }},
      {"middle", {{3, 4, 5}}, [](In x) { return std::vector{x[0] / sum(sqr(x[0]), 1, true)}; }},
      {"outer_and_inner",
       {{3, 4, 5}, {4}},
       [](In x) {
         return std::vector{sum(sqr(x[0]), {0, 2}) + x[1]};
       }},
      {"named",
       {{"n", 3}},
       [](In x) {
         return std::vector{x[0] * sum(abs(x[0]), 1, true), sum(x[0] * x[0], 1)};
       }},
      {"named_rows", {{3, "n"}}, [](In x) { return std::vector{exp(x[0]) / sum(exp(x[0]), 1, true)}; }},
      {"one", {{1, 6}}, [](In x) { return std::vector{x[0] - sum(exp(x[0]), 1, true)}; }},
      {"none", {{0, 6}}, [](In x) { return std::vector{x[0] - sum(exp(x[0]), 1, true)}; }},
      {"empty",
       {{4, 0}},
       [](In x) {
         return std::vector{x[0] - sum(exp(x[0]), 1, true), sum(exp(x[0]), 1)};
       }},
  };
  return out;
}

std::vector<OpCase> cases_fused_reduction() {
  OpCase like{};
  like.low = 0.25;
  like.high = 1.5;
  like.bound = 64;
  return fused_cases(make_fused_reduction, examples(), like);
}

}  // namespace

const Op& fused_reduction_op() {
  static const Op op = [] {
    Op made = op_of_body(
        "fused_reduction",
        "Elementwise expressions and reductions over the same axes, computed row by row in one loop nest.\n"
        "Example: a softmax of each row",
        [](kernel::StepBuilder& b) { lower_rows(b, *b.node().bodies[0]); }, cases_fused_reduction);
    made.access = access_by_slices;
    return made;
  }();
  return op;
}

}  // namespace thtrain
