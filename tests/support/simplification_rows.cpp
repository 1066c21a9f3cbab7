#include "tests/support/simplification_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/program.h"

namespace thtrain {

const Operands& operands() {
  constexpr DType f64 = DType::kFloat64, i64 = DType::kInt64;
  static const Operands all{tensor("x", {7}, f64),          tensor("y", {7}, f64),
                            tensor("z", {7}, f64),          tensor("a", {5, 7}, f64),
                            tensor("b", {7, 4}, f64),       tensor("c", {5, 4}, f64),
                            tensor("w", {7, 4}, f64),       tensor("cube", {2, 3, 4}, f64),
                            tensor("s", {}, f64),           tensor("t", {}, f64),
                            tensor("i", {7}, i64),          tensor("j", {7}, i64),
                            tensor("labels", {5}, i64),     tensor("f", {7}, DType::kFloat32),
                            tensor("p", {7}, DType::kBool), tensor("q", {7}, DType::kBool)};
  return all;
}

static Tensor drawn(const Expr& leaf, std::mt19937& random) {
  const Shape shape = leaf.type().known_shape();
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < out.size(); ++i) {
    double& x = out.data<double>()[i];
    x = is_float(leaf.dtype()) ? normal(random) : static_cast<double>(random() % (is_bool(leaf.dtype()) ? 2 : 4));
  }
  return out.cast(leaf.dtype());
}

static void expect_close(const Tensor& wanted, const Tensor& got) {
  const double tolerance = wanted.dtype() == DType::kFloat32 ? 1e-4 : is_float(wanted.dtype()) ? 1e-9 : 0;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const double x = wanted.as_double(i);
    if (!std::isfinite(x)) continue;
    EXPECT_NEAR(got.as_double(i), x, tolerance * std::max(1.0, std::abs(x))) << "element " << i;
  }
}

static void expect_simplified(const SimplificationRow& row) {
  const Expr value = row.build(operands());
  SCOPED_TRACE(str(row.name, ": ", expr_text(value, 300)));
  Graph graph;
  graph.outputs = {value};
  graph.inputs = leaves_of(graph.outputs);
  const CanonicalGraph canonical = canonical_lengths(graph);
  PipelineOptions options;
  options.level = row.level;
  options.verify = true;
  const Graph optimized = optimize(canonical.graph, options);
  const Program program = plan(optimized, canonical.value_checks, {});
  std::set<const Node*> computed;  // a node may have a step that copies an operand, and one that computes
  for_each_step(program.body, [&](const Step& step) {
    if (step.node) computed.insert(step.node);
  });
  EXPECT_LE(computed.size(), row.steps) << program_text(program);

  std::mt19937 random(20240610);
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<std::pair<Expr, Tensor>> before, after;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      before.emplace_back(graph.inputs[i], drawn(graph.inputs[i], random));
      after.emplace_back(optimized.inputs[i], before.back().second);
    }
    const Tensor wanted = evaluate(graph.outputs, before)[0].contiguous();
    const Tensor got = evaluate(optimized.outputs, after)[0].contiguous();
    ASSERT_EQ(wanted.shape(), got.shape());
    ASSERT_EQ(wanted.dtype(), got.dtype());
    expect_close(wanted, got);
  }
}

void expect_simplified(const std::vector<SimplificationRow>& rows) {
  for (const SimplificationRow& row : rows) expect_simplified(row);
}

}  // namespace thtrain
