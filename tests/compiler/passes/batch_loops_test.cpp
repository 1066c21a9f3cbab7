// Work that leaves loops: products before and after, sums of products, maps. What stays, and what it computes.
#include "compiler/passes/batch_loops.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/control/over_iterations.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"
#include "tests/support/passes.h"
#include "tests/support/steps.h"

namespace thtrain::batch_loops_test {
namespace {

using Steps = std::vector<std::string>;

// What the rules and the passes before make of the graph, and this pass of that.
Graph batched(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs, Level level = Level::kStandard) {
  Graph graph{.inputs = inputs, .outputs = outputs, .updates = {}};
  PipelineOptions options{.level = level};
  for (const char* later : {"batch_loops", "find_gemm", "fuse_matvec_update", "fuse_reductions", "fuse_epilogues",
                            "fuse_elementwise", "fuse_scatters"})
    options.without.insert(later);
  return run_pass("batch_loops", optimize(graph, options), {level, nullptr, nullptr});
}

// How many nodes of that op the graph has outside loops, and how many inside.
size_t count_inside(const Graph& graph, const std::string& op) {
  size_t out = 0;
  for (const Node* node : topological_order(graph.roots()))
    for (const GraphPtr& body : node->bodies) out += count_of(*body, op) + count_inside(*body, op);
  return out;
}

const Expr x = tensor("x", {7, 2, 3}, DType::kFloat64), W = tensor("W", {3, 4}, DType::kFloat64),
           V = tensor("V", {4, 4}, DType::kFloat64), h0 = tensor("h0", {2, 4}, DType::kFloat64);
const std::vector<Tensor> kValues = {drawn({7, 2, 3}, 1), drawn({3, 4}, 2), drawn({4, 4}, 3), drawn({2, 4}, 4)};

Expr recurrent() {
  return scan([](Expr x_t, Expr h) { return tanh(dot(x_t, W) + dot(h, V)); }, {.sequences = {x}, .outputs_info = {h0}})
      .outputs;
}

TEST(BatchLoops, AProductOfASequenceIsOneBeforeTheLoop) {
  const Graph out = batched({x, W, V, h0}, {recurrent()});
  EXPECT_EQ(count_of(out, "dot"), 1u);
  EXPECT_EQ(count_inside(out, "dot"), 1u);
  in_all_modes({x, W, V, h0}, {recurrent()}, kValues);
}

TEST(BatchLoops, AtTheStrictLevelItStays) {
  const Graph out = batched({x, W, V, h0}, {recurrent()}, Level::kStrict);
  EXPECT_EQ(count_of(out, "dot"), 0u);
  EXPECT_EQ(count_inside(out, "dot"), 2u);
}

TEST(BatchLoops, AProductOfTheStatesIsOneAfterTheLoop) {
  const Expr U = tensor("U", {4, 5}, DType::kFloat64);
  const std::vector<Expr> y =
      scan(
          [&](Expr x_t, Expr h) {
            const Expr next = tanh(dot(x_t, W) + h);
            const Expr product = dot(next, U);
            return std::vector<Expr>{next, product + sum(inverse(x_t[{all(), Slice{.stop = 2}}] + 9 * eye(2))),
                                     product + sum(x_t)};
          },
          {.sequences = {x}, .outputs_info = {h0, std::nullopt, std::nullopt}})
          .outputs;
  const Expr plain = scan(
                         [&](Expr x_t, Expr h) {
                           const Expr next = tanh(dot(x_t, W) + h);
                           return std::vector<Expr>{next, dot(next, U) * 2};
                         },
                         {.sequences = {x}, .outputs_info = {h0, std::nullopt}})
                         .outputs[1];
  const Graph out = batched({x, W, h0, U}, {plain});
  EXPECT_EQ(count_of(out, "dot"), 2u);
  EXPECT_EQ(count_inside(out, "dot"), 0u);
  EXPECT_EQ(count_inside(batched({x, W, h0, U}, {y[1]}), "dot"), 1u) << "what has no batching rule keeps it inside";
  EXPECT_EQ(count_inside(batched({x, W, h0, U}, {y[2]}), "dot"), 1u) << "so does a reduction, in a loop with a state";
  in_all_modes({x, W, h0, U}, {plain, y[1], y[2]}, {kValues[0], kValues[1], kValues[3], drawn({4, 5}, 5)});
}

TEST(BatchLoops, AMapHasNoLoop) {
  const Expr y = map(
                     [](Expr x_t) {
                       return exp(x_t) + dot(x_t, dot(W, V)[{all(), Slice{.stop = 3}}]);
                     },
                     {.sequences = {x}})
                     .outputs;
  const Graph out = batched({x, W, V}, {y});
  EXPECT_EQ(count_of(out, "scan"), 0u);
  in_all_modes({x, W, V}, {y}, {kValues[0], kValues[1], kValues[2]});
}

TEST(BatchLoops, TheGradientOfAWeightIsOneProductAfterTheLoop) {
  const std::vector<Expr> g = grad(sum(sqr(recurrent())), {W, V});
  const Graph out = batched({x, W, V, h0}, g);
  EXPECT_EQ(count_of(out, "dot"), 3u) << "of x and W before, of each weight's gradient after";
  EXPECT_EQ(count_inside(out, "dot"), 2u) << "forwards and backwards by V";
  expect_gradient(sum(sqr(recurrent())), {x, W, V, h0}, kValues, 1e-5);
}

TEST(BatchLoops, WhatAProductNeedsAndIsReadAnywayIsKeptOnce) {
  const Expr u = tensor("u", {7, 2, 4}, DType::kFloat64);
  const Expr h =
      scan([](Expr u_t, Expr h) { return tanh(u_t + dot(h, V)); }, {.sequences = {u}, .outputs_info = {h0}}).outputs;
  size_t kept = 0;
  const Graph out = batched({u, V, h0}, grad(sum(sqr(h)), {u, V}));
  for (const Node* node : topological_order(out.roots()))
    if (node->op == &scan_op()) kept += ScanParts(*node).elements;
  EXPECT_EQ(kept, 1u) << "the errors, for u and for V";
  expect_gradient(sum(sqr(h)), {u, V, h0}, {drawn({7, 2, 4}, 1), kValues[2], kValues[3]}, 1e-5);
}

TEST(BatchLoops, ProductsWithWhatALoopReadsBackwardsReverseTheErrorsOnce) {
  const std::vector<Expr> g = grad(sum(sqr(recurrent())), {W, V});
  const Graph out = run_pass("merge", batched({x, W, V, h0}, g), {Level::kStandard, nullptr, nullptr});
  size_t copies = 0;
  for (const Node* node : topological_order(out.roots())) {
    if (node->op != &reshape_op()) continue;
    bool is_reversed = false;
    for (const Node* view = &node->inputs[0].node(); view->op == &subtensor_op(); view = &view->inputs[0].node())
      if (view->props.get<Ints>("steps")[0] == -1) is_reversed = !is_reversed;
    copies += is_reversed ? 1 : 0;
  }
  EXPECT_EQ(copies, 1u) << "the sequence and the states, reversed twice, are read as they lie";
}

TEST(BatchLoops, SumsOfOuterProductsAndSeveralTerms) {
  const Expr u = tensor("u", {6, 3}, DType::kFloat64), v = tensor("v", {6, 4}, DType::kFloat64),
             s0 = tensor("s0", {3, 4}, DType::kFloat64);
  const Expr total = reduce([](Expr u_t, Expr v_t, Expr s) { return outer(u_t, v_t) + s + outer(u_t * 2, exp(v_t)); },
                            {.sequences = {u, v}, .outputs_info = {s0}})
                         .outputs;
  const Graph out = batched({u, v, s0}, {total});
  EXPECT_EQ(count_of(out, "scan"), 0u);
  EXPECT_EQ(count_of(out, "dot"), 2u);
  in_all_modes({u, v, s0}, {total}, {drawn({6, 3}, 1), drawn({6, 4}, 2), drawn({3, 4}, 3)});
}

TEST(BatchLoops, WhatIsReadInsideOrStepByStepStays) {
  const Expr u = tensor("u", {6, 3}, DType::kFloat64), v = tensor("v", {6, 4}, DType::kFloat64),
             s0 = tensor("s0", {3, 4}, DType::kFloat64);
  auto sums = [](Expr u_t, Expr v_t, Expr s) { return s + outer(u_t, v_t); };
  const Expr every = scan(sums, {.sequences = {u, v}, .outputs_info = {s0}}).outputs;
  EXPECT_EQ(count_of(batched({u, v, s0}, {every}), "scan"), 1u);
  const Expr read = reduce([](Expr u_t, Expr v_t, Expr s) { return s + outer(u_t, v_t * sum(s)); },
                           {.sequences = {u, v}, .outputs_info = {s0}})
                        .outputs;
  EXPECT_EQ(count_of(batched({u, v, s0}, {read}), "scan"), 1u);
  in_all_modes({u, v, s0}, {every, read}, {drawn({6, 3}, 1), drawn({6, 4}, 2), drawn({3, 4}, 3)});
}

TEST(BatchLoops, NoIterationsAddNothing) {
  const Expr u = matrix("u"), v = matrix("v"), s0 = matrix("s0");
  const Expr total = reduce([](Expr u_t, Expr v_t, Expr s) { return s + outer(u_t, v_t); },
                            {.sequences = {u, v}, .outputs_info = {s0}})
                         .outputs;
  const Tensor out = in_all_modes({u, v, s0}, {total}, {drawn({0, 3}, 1), drawn({5, 4}, 2), drawn({3, 4}, 3)})[0];
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.as_double(i), drawn({3, 4}, 3).as_double(i));
}

TEST(OverIterations, KnowsWhatFollowsFromWhatItIsTold) {
  const Expr seq = matrix("seq", {5, 3}), fixed = vector("fixed", {3}), other = vector("other", {3});
  const Expr element = make_body_input(vector("e", {3}).type(), "element"),
             state = make_body_input(element.type(), "s");
  const Expr inside = make_body_input(fixed.type(), "fixed");
  OverIterations over(5);
  over.know(element, seq, true);
  over.know(inside, fixed, false);
  const Expr value = exp(element) * inside + 1, wrong = value + state, same = inside * 2;
  over.find({value, wrong, same});
  EXPECT_TRUE(over.is_known(value));
  EXPECT_TRUE(over.varies(value));
  EXPECT_FALSE(over.varies(same));
  EXPECT_FALSE(over.is_known(wrong));
  EXPECT_EQ(over.all(value).dims(), (Dims{5, 3}));
  EXPECT_EQ(over.all(same).dims(), (Dims{5, 3}));
}

}  // namespace
}  // namespace thtrain::batch_loops_test
