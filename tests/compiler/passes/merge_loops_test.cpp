// Loops over the same steps that share work become one; others stay apart.
#include "compiler/passes/merge_loops.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"
#include "tests/support/passes.h"

namespace thtrain::merge_loops_test {
namespace {

const Expr x = tensor("x", {6, 3}, DType::kFloat64), y = tensor("y", {6, 3}, DType::kFloat64),
           a = tensor("a", {3}, DType::kFloat64), W = tensor("W", {3, 3}, DType::kFloat64);

const std::vector<Tensor> kValues = {drawn({6, 3}, 1), drawn({6, 3}, 2), drawn({3}, 3), drawn({3, 3}, 4)};

std::vector<const Node*> loops_of(const Graph& graph) {
  std::vector<const Node*> out;
  for (const Node* node : topological_order(graph.roots()))
    if (node->op == &scan_op()) out.push_back(node);
  return out;
}

Graph merged(const std::vector<Expr>& outputs) {
  Graph graph{.inputs = {x, y, a, W}, .outputs = outputs, .updates = {}};
  graph = rewrite_graph(graph, nullptr);
  return run_pass("merge_loops", graph, {Level::kStrict, nullptr, nullptr});
}

Expr recurrent(const Expr& sequence) {
  return scan([](Expr s, Expr h) { return tanh(s + dot(h, W)); }, {.sequences = {sequence}, .outputs_info = {a}})
      .outputs;
}

// In all modes; every input is read.
void expect_equal_in_all_modes(std::vector<Expr> outputs) {
  for (const Expr& input : {x, y, a, W}) outputs.push_back(sum(input));
  in_all_modes({x, y, a, W}, outputs, kValues);
}

TEST(MergeLoops, AStateThatGoesOnAlikeIsOne) {
  const std::vector<Expr> both = scan(
                                     [](Expr s, Expr h) -> std::vector<Expr> {
                                       const Expr z = dot(h, W);
                                       return {tanh(s + z), sqr(z)};
                                     },
                                     {.sequences = {x}, .outputs_info = {a, std::nullopt}})
                                     .outputs;
  const Graph out = merged({recurrent(x), both[1]});
  ASSERT_EQ(loops_of(out).size(), 1u);
  const ScanParts parts(*loops_of(out)[0]);
  EXPECT_EQ(parts.states, 1u);
  EXPECT_EQ(parts.sequences, 1u);
  EXPECT_EQ(parts.captures, 1u);
  EXPECT_EQ(parts.elements, 1u);
  expect_equal_in_all_modes({recurrent(x), both[1]});
}

TEST(MergeLoops, TwoStatesOfOneLoopThatReadEachOtherAlikeAreOne) {
  const std::vector<Expr> two = scan(
                                    [](Expr s, Expr h, Expr k) -> std::vector<Expr> {
                                      return {tanh(s + dot(k, W)), tanh(s + dot(h, W))};
                                    },
                                    {.sequences = {x}, .outputs_info = {a, a}})
                                    .outputs;
  const Graph out = merged(two);
  ASSERT_EQ(loops_of(out).size(), 1u);
  EXPECT_EQ(ScanParts(*loops_of(out)[0]).states, 1u);
  expect_equal_in_all_modes(two);
}

TEST(MergeLoops, AStateThatDiffersLaterStaysApart) {
  const std::vector<Expr> two = scan(
                                    [](Expr s, Expr h, Expr k) -> std::vector<Expr> {
                                      return {tanh(s + dot(k, W)), tanh(s - dot(h, W))};
                                    },
                                    {.sequences = {x}, .outputs_info = {a, a}})
                                    .outputs;
  EXPECT_EQ(ScanParts(*loops_of(merged(two))[0]).states, 2u);
  expect_equal_in_all_modes(two);
}

TEST(MergeLoops, LoopsThatShareNothingThatTheyComputeStayApart) {
  EXPECT_EQ(loops_of(merged({recurrent(x), recurrent(y)})).size(), 2u);
  EXPECT_EQ(loops_of(merged({recurrent(x), recurrent(x)})).size(), 1u);
}

TEST(MergeLoops, ALoopThatNeedsTheOtherStaysBehindIt) {
  const Expr first = recurrent(x), second = recurrent(first);
  EXPECT_EQ(loops_of(merged({first, second})).size(), 2u);
  expect_equal_in_all_modes({first, second});
}

TEST(MergeLoops, LoopsOfOtherLengthsStayApart) {
  EXPECT_EQ(loops_of(merged({recurrent(x), recurrent(subtensor(x, {Slice{.stop = 5}}))})).size(), 2u);
}

// substitute() copies a loop with other inputs, and leaves its body as it is.
TEST(MergeLoops, LoopsThatShareABodyAreNotTakenForEachOther) {
  const Expr b = tensor("b", {3}, DType::kFloat64), h0 = tensor("h0", {3}, DType::kFloat64);
  const Expr one = scan([](Expr s, Expr h, Expr w) { return tanh(h * w + s); },
                        {.sequences = {x}, .outputs_info = {h0}, .non_sequences = {a}})
                       .outputs;
  std::vector<Expr> roots = {one};
  auto with = [&](std::vector<std::pair<Expr, Expr>> replaced) { return substitute(roots, replaced)[0]; };
  const Expr other_capture = with({{a, b}}), other_sequence = with({{x, y}}), other_start = with({{h0, b}});
  const std::vector<Expr> all = {one, other_capture, other_sequence, other_start};
  EXPECT_EQ(loops_of(merged(all)).size(), 4u);
  in_all_modes({x, y, a, b, h0}, all, {kValues[0], kValues[1], kValues[2], drawn({3}, 5), drawn({3}, 6)});
  const std::vector<Expr> g = grad(sum(one) + sum(sqr(other_capture)), {a, b});
  in_all_modes({x, a, b, h0}, g, {kValues[0], kValues[2], drawn({3}, 5), drawn({3}, 6)});
}

TEST(MergeLoops, LoopsInsideALoopAreMerged) {
  const Expr sums = scan(
                        [](Expr s) {
                          auto inner = [&](bool twice) {
                            return reduce(
                                       [&](Expr e, Expr t) -> std::vector<Expr> {
                                         if (!twice) return {exp(t) + e};
                                         return {exp(t) + e, exp(t)};
                                       },
                                       {.sequences = {s},
                                        .outputs_info = twice ? std::vector<ScanOutput>{ScanOutput(0.0), ScanOutput()}
                                                              : std::vector<ScanOutput>{ScanOutput(0.0)}})
                                .outputs;
                          };
                          return inner(false)[0] + inner(true)[1];
                        },
                        {.sequences = {x}})
                        .outputs;
  const Graph out = merged({sums});
  ASSERT_EQ(loops_of(out).size(), 1u);
  EXPECT_EQ(loops_of(*loops_of(out)[0]->bodies[0]).size(), 1u);
  expect_equal_in_all_modes({sums});
}

// The gates of an LSTM: the backward loop has the product with the transposed weights and no other.
TEST(MergeLoops, AGradientReadsTheProductsThatTheLoopKept) {
  const Expr V = tensor("V", {3, 6}, DType::kFloat64);
  const Expr h = scan(
                     [&](Expr s, Expr h) {
                       const Expr z = dot(h, V);
                       const Expr gate = sigmoid(subtensor(z, {Slice{0, 3}}));
                       return gate * tanh(subtensor(z, {Slice{3, 6}})) + (1 - gate) * s;
                     },
                     {.sequences = {x}, .outputs_info = {a}})
                     .outputs;
  const Expr cost = sum(sqr(h));
  const std::vector<Expr> g = grad(cost, {V, a});
  Graph graph{.inputs = {x, a, V}, .outputs = {cost, g[0], g[1]}, .updates = {}};
  PipelineOptions options;
  for (const char* later :
       {"find_gemm", "fuse_matvec_update", "fuse_reductions", "fuse_epilogues", "fuse_elementwise", "fuse_scatters"})
    options.without.insert(later);
  const Graph out = optimize(graph, options);
  ASSERT_EQ(loops_of(out).size(), 2u);
  for (const Node* loop : loops_of(out)) {
    size_t products = 0;
    for (const Node* node : topological_order(loop->bodies[0]->roots())) products += node->op->name == "dot";
    EXPECT_EQ(products, 1u);
  }
  expect_gradient(cost, {x, a, V}, {kValues[0], kValues[2], drawn({3, 6}, 5)});
  in_all_modes({x, a, V}, {cost, g[0], g[1]}, {kValues[0], kValues[2], drawn({3, 6}, 5)});
}

// Gradients of gradients read what the loops before them kept, too.
TEST(MergeLoops, SecondDerivativesAgreeWithDifferences) {
  const Expr gate = scan(
                        [](Expr s, Expr h) {
                          const Expr z = dot(h, W);
                          return sigmoid(z) * s + tanh(z);
                        },
                        {.sequences = {x}, .outputs_info = {a}})
                        .outputs;
  const Expr first = grad(sum(sqr(gate)), {a})[0];
  expect_gradient(sum(sin(first)), {x, a, W}, {kValues[0], kValues[2], kValues[3]}, 1e-5);
}

}  // namespace
}  // namespace thtrain::merge_loops_test
