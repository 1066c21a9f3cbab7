// What nobody reads leaves a loop: elements, states, sequences, captures; and nothing else does.
#include "compiler/passes/trim_loops.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/control/scan_parts.h"
#include "tests/support/modes.h"
#include "tests/support/passes.h"

namespace thtrain::trim_loops_test {
namespace {

const Expr x = vector("x", {5}), y = vector("y", {5}), a = scalar("a"), b = scalar("b");

std::vector<Expr> two_sums() {
  return scan(
             [](Expr x_t, Expr y_t, Expr s, Expr t, Expr a, Expr b) -> std::vector<Expr> {
               return {s + a * x_t, t + b * y_t + s, x_t * y_t};
             },
             {.sequences = {x, y}, .outputs_info = {a, b, std::nullopt}, .non_sequences = {a, b}})
      .outputs;
}

const Node& loop_of(const Graph& graph) {
  for (const Node* node : topological_order(graph.roots()))
    if (node->op == &scan_op()) return *node;
  throw std::logic_error("no loop");
}

const Node& trimmed(const std::vector<Expr>& outputs) {
  static std::vector<Graph> kept;  // nodes live as long as their graph
  kept.push_back(run_pass("trim_loops", {.inputs = {x, y, a, b}, .outputs = outputs, .updates = {}}));
  return loop_of(kept.back());
}

TEST(TrimLoops, AStateThatNobodyNeedsGoesWithItsSequenceAndCapture) {
  const ScanParts parts(trimmed({two_sums()[0]}));
  EXPECT_EQ(parts.states, 1u);
  EXPECT_EQ(parts.sequences, 1u);
  EXPECT_EQ(parts.captures, 1u);
  EXPECT_EQ(parts.elements, 0u);
}

TEST(TrimLoops, AStateThatANeededOneReadsStays) {
  const ScanParts parts(trimmed({two_sums()[1]}));
  EXPECT_EQ(parts.states, 2u);
  EXPECT_EQ(parts.sequences, 2u);
  EXPECT_EQ(parts.captures, 2u);
  EXPECT_EQ(parts.elements, 0u);
}

TEST(TrimLoops, AnElementAloneNeedsNoState) {
  const ScanParts parts(trimmed({two_sums()[2]}));
  EXPECT_EQ(parts.states, 0u);
  EXPECT_EQ(parts.sequences, 2u);
  EXPECT_EQ(parts.elements, 1u);
}

TEST(TrimLoops, TheConditionAndWhatItReadsStay) {
  const Expr last = reduce(
                        [](Expr x_t, Expr s, Expr t) {
                          return std::tuple(std::vector<Expr>{s + x_t, t * 2}, until(gt(s, 2)));
                        },
                        {.sequences = {x}, .outputs_info = {a, b}})
                        .outputs[1];
  const ScanParts parts(trimmed({last}));
  EXPECT_TRUE(parts.until);
  EXPECT_EQ(parts.states, 3u) << "both, and the number of steps";
}

TEST(TrimLoops, APrintStays) {
  const Expr last = reduce(
                        [](Expr x_t, Expr s, Expr t) {
                          return std::vector<Expr>{s + x_t, print(t, "t") * 2};
                        },
                        {.sequences = {x}, .outputs_info = {a, b}})
                        .outputs[0];
  const ScanParts parts(trimmed({last}));
  EXPECT_EQ(parts.states, 2u) << "what is printed is computed";
}

TEST(TrimLoops, TheValuesAreThoseOfBefore) {
  const std::vector<Tensor> values = {Tensor::vector({1.0, 2.0, 3.0, 4.0, 5.0}),
                                      Tensor::vector({1.0, 0.0, 1.0, 0.0, 1.0}), Tensor(2.0), Tensor(3.0)};
  const std::vector<Expr> outputs = two_sums();
  const std::vector<Tensor> all = in_all_modes({x, y, a, b}, outputs, values);
  for (size_t k = 0; k < outputs.size(); ++k)
    EXPECT_EQ(in_all_modes({x, y, a, b}, {outputs[k]}, values)[0].text(), all[k].text());
}

}  // namespace
}  // namespace thtrain::trim_loops_test
