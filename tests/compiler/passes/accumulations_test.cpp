// States that only collect: which loops become reductions and cumulative sums, and what they compute.
#include "compiler/passes/accumulations.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/passes/batch_loops.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/modes.h"
#include "tests/support/numbers.h"
#include "tests/support/passes.h"
#include "tests/support/steps.h"

namespace thtrain::accumulations_test {
namespace {

// What the rules and the passes before make of the graph, and batch_loops of that.
Graph batched(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs, Level level = Level::kStandard) {
  PipelineOptions options{.level = level};
  for (const char* later : {"batch_loops", "find_gemm", "fuse_matvec_update", "fuse_reductions", "fuse_epilogues",
                            "fuse_elementwise", "fuse_scatters"})
    options.without.insert(later);
  return run_pass("batch_loops", optimize({.inputs = inputs, .outputs = outputs, .updates = {}}, options),
                  {level, nullptr, nullptr});
}

TEST(Accumulation, IsAStateAndTermsThatDoNotNeedIt) {
  const Expr s = scalar("s"), a = scalar("a"), b = scalar("b");
  EXPECT_EQ(accumulation_of(s, s + a + exp(b))->terms.size(), 2u);
  EXPECT_TRUE(accumulation_of(s, a + s)->has_running_values());
  EXPECT_FALSE(accumulation_of(s, maximum(a, s))->has_running_values());
  EXPECT_FALSE(accumulation_of(s, s));
  EXPECT_FALSE(accumulation_of(s, s + s));
  EXPECT_FALSE(accumulation_of(s, s + a * s));
  EXPECT_FALSE(accumulation_of(s, a * s + b));
  EXPECT_FALSE(accumulation_of(s, a - s));
  const Expr v = vector("v", {3});
  EXPECT_FALSE(accumulation_of(v, v + a)) << "a term of other lengths";
}

const Expr u = tensor("u", {6, 3}, DType::kFloat64), s0 = tensor("s0", {3}, DType::kFloat64);
const std::vector<Tensor> kCollected = {drawn({6, 3}, 1), drawn({3}, 2)};

TEST(Accumulations, AStateThatCollectsIsAReduction) {
  struct Case {
    const char* reduction;
    Expr (*step)(Expr u_t, Expr s);
  };
  for (const Case& c : {Case{"sum", [](Expr u_t, Expr s) { return s + exp(u_t) + u_t; }},
                        Case{"prod", [](Expr u_t, Expr s) { return s * (u_t + 0.5); }},
                        Case{"max", [](Expr u_t, Expr s) { return maximum(s, u_t); }},
                        Case{"min", [](Expr u_t, Expr s) { return minimum(sqr(u_t), s); }}}) {
    const Expr last = reduce(c.step, {.sequences = {u}, .outputs_info = {s0}}).outputs;
    const Graph out = batched({u, s0}, {last});
    EXPECT_EQ(count_of(out, "scan"), 0u) << c.reduction;
    EXPECT_GE(count_of(out, c.reduction), 1u);
    in_all_modes({u, s0}, {last}, kCollected);
    EXPECT_EQ(count_of(batched({u, s0}, {last}, Level::kStrict), "scan"), 1u) << "in its order";
  }
}

TEST(Accumulations, ARunningSumIsACumulativeSum) {
  const Expr every = scan([](Expr u_t, Expr s) { return s + u_t; }, {.sequences = {u}, .outputs_info = {s0}}).outputs;
  const Graph out = batched({u, s0}, {every});
  EXPECT_EQ(count_of(out, "scan"), 0u);
  EXPECT_EQ(count_of(out, "cumsum"), 1u);
  in_all_modes({u, s0}, {every, every[-1]}, kCollected);
  expect_gradient(sum(sin(every)), {u, s0}, kCollected);
}

// Sums of running sums, and elements that read them: nothing stays.
TEST(Accumulations, WhatReadsARunningSumLeavesWithIt) {
  const std::vector<Expr> all = scan(
                                    [](Expr u_t, Expr s, Expr t) -> std::vector<Expr> {
                                      return {s + u_t, t + s * u_t, tanh(s + t)};
                                    },
                                    {.sequences = {u}, .outputs_info = {s0, s0, std::nullopt}})
                                    .outputs;
  EXPECT_EQ(count_of(batched({u, s0}, all), "scan"), 0u);
  in_all_modes({u, s0}, all, kCollected);
  expect_gradient(sum(all[0] * all[1]) + sum(all[2]), {u, s0}, kCollected);
}

TEST(Accumulations, ARunningSumThatTheLoopNeedsStays) {
  const std::vector<Expr> all = scan(
                                    [](Expr u_t, Expr s, Expr h) -> std::vector<Expr> {
                                      return {s + u_t, tanh(h + s)};
                                    },
                                    {.sequences = {u}, .outputs_info = {s0, s0}})
                                    .outputs;
  EXPECT_EQ(count_of(batched({u, s0}, all), "scan"), 1u);
  EXPECT_EQ(count_of(batched({u, s0}, all), "cumsum"), 0u);
  in_all_modes({u, s0}, all, kCollected);
  const Expr products =
      scan([](Expr u_t, Expr s) { return s * u_t; }, {.sequences = {u}, .outputs_info = {s0}}).outputs;
  EXPECT_EQ(count_of(batched({u, s0}, {products}), "scan"), 1u) << "there is no cumulative product";
  const Expr powers = reduce([](Expr s) { return s * s0; }, {.outputs_info = {s0}, .n_steps = 4}).outputs;
  EXPECT_EQ(count_of(batched({s0}, {powers}), "scan"), 1u) << "no sequence is collected";
}

TEST(Accumulations, ACollectionOfNoIterationsIsItsFirstValue) {
  const Expr v = matrix("v"), start = vector("start");
  const auto of = [&](auto step) { return reduce(step, {.sequences = {v}, .outputs_info = {start}}).outputs; };
  const std::vector<Expr> all = {of([](Expr v_t, Expr s) { return s + v_t; }),
                                 of([](Expr v_t, Expr s) { return s * v_t; }),
                                 of([](Expr v_t, Expr s) { return maximum(s, v_t); })};
  for (const Tensor& out : in_all_modes({v, start}, all, {drawn({0, 3}, 1), drawn({3}, 2)}))
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(out.as_double(i), drawn({3}, 2).as_double(i));
}

TEST(Accumulations, IntegersAreCollectedModuloTheirSize) {
  const Expr bytes = tensor("bytes", {300}, DType::kInt8);
  const Expr total =
      reduce([](Expr b, Expr s) { return s + b; },
             {.sequences = {bytes}, .outputs_info = {make_constant(Tensor(int64_t{100}).cast(DType::kInt8))}})
          .outputs;
  Tensor values = Tensor::zeros(DType::kInt8, {300});
  int64_t expected = 100;
  for (int64_t i = 0; i < 300; ++i) values.data<int8_t>()[i] = static_cast<int8_t>(i % 7), expected += i % 7;
  EXPECT_EQ(in_all_modes({bytes}, {total}, {values})[0].as_int(), static_cast<int8_t>(expected));
}

// The terms of long loops would all be kept before they are reduced along the first axis.
TEST(Accumulations, LongLoopsThatComputeLongTermsKeepOneValue) {
  const Expr x = matrix("x", {5000, 20}), v = vector("v", {5000});
  auto of = [](const Expr& sequence, const Expr& first, auto step) {
    return reduce(step, {.sequences = {sequence}, .outputs_info = {first}}).outputs;
  };
  const Expr rows = of(x, zeros({20}), [](Expr e, Expr s) { return s + sqr(e); });
  EXPECT_EQ(count_of(batched({x}, {rows}), "scan"), 1u);
  EXPECT_EQ(count_of(batched({x}, {of(x, zeros({20}), [](Expr e, Expr s) { return s + e; })}), "scan"), 0u);
  EXPECT_EQ(count_of(batched({v}, {of(v, Operand(0.0).expr(), [](Expr e, Expr s) { return s + sqr(e); })}), "scan"),
            0u);
}

}  // namespace
}  // namespace thtrain::accumulations_test
