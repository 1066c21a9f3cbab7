// The order of nodes, buffers in place, the arena.
#include <gtest/gtest.h>

#include <random>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/plan/program.h"
#include "compiler/plan/schedule.h"
#include "compiler/runtime/shared.h"

namespace thtrain::planner_test {
namespace {

Program planned(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                const std::vector<Update>& updates = {}, int64_t non_temporal_threshold = 0) {
  CanonicalGraph canonical = canonical_lengths({inputs, outputs, updates});
  return plan(optimize(canonical.graph, {}), canonical.value_checks,
              {.target = {.vector_bytes = 32, .memory = {.non_temporal_bytes = non_temporal_threshold}}});
}

size_t steps(const Program& program) {
  size_t out = 0;
  for_each_step(program.body, [&](const Step&) { ++out; });
  return out;
}

TEST(LiveRangeFinder, FromTheFirstStepThatTouchesABufferToTheLast) {
  Expr x = make_input({.dtype = DType::kFloat64, .dims = {3, 4}}, "x");
  Shared w(Tensor::zeros(DType::kFloat64, {4, 5}), "w");
  Program program = planned({x}, {dot(exp(x), w)});
  const std::vector<LiveRange> live_ranges = live_ranges_of(program);
  ASSERT_EQ(live_ranges.size(), program.buffers.size());
  for (size_t b = 0; b < live_ranges.size(); ++b) {
    const bool made_first = program.buffers[b].kind == BufferKind::kTemporary;
    EXPECT_EQ(live_ranges[b].first, made_first || program.buffers[b].kind == BufferKind::kInput ? 0 : 1);
    EXPECT_EQ(live_ranges[b].last, program.buffers[b].kind == BufferKind::kInput ? 0 : 1);
  }
}

TEST(NodeOrder, AWriterComesAfterTheLastReader) {
  Shared w(Tensor::zeros(DType::kFloat64, {4}), "w"), v(Tensor::zeros(DType::kFloat64, {4}), "v");
  // The new w is made first in the text, and v still wants the old one.
  Expr new_w = w.expr() * 2, new_v = v.expr() + exp(w.expr());
  Graph graph{{}, {}, {{w, new_w}, {v, new_v}}};
  NodeOrder order = schedule(graph);
  EXPECT_EQ(order.in_place[0].size(), 1u);
  EXPECT_EQ(order.in_place[1].size(), 1u);
  auto location = [&](const Expr& e) {
    return std::find(order.order.begin(), order.order.end(), &e.node()) - order.order.begin();
  };
  EXPECT_GT(location(new_w), location(exp(w.expr()).same(new_v) ? new_v : new_v.node().inputs[1]));
}

TEST(NodeOrder, WritersThatNeedEachOthersOldValueAreNotBothInPlace) {
  Shared w(Tensor::zeros(DType::kFloat64, {4}), "w"), v(Tensor::zeros(DType::kFloat64, {4}), "v");
  NodeOrder order = schedule({{}, {}, {{w, exp(v.expr())}, {v, tanh(w.expr())}}});
  EXPECT_TRUE(order.in_place[0].empty() || order.in_place[1].empty());
}

TEST(NodeOrder, WhatAnUpdateOverwritesGoesJustBeforeIt) {
  Shared v(Tensor::zeros(DType::kFloat64, {3, 4}), "v");
  Expr x = matrix("x", {3, 5}), y = matrix("y", {5, 4}), bounded = tanh(v.expr()), z = tanh(y);
  CanonicalGraph canonical = canonical_lengths({{x, y}, {sum(z)}, {{v, bounded + dot(x, z)}}});
  Graph graph = optimize(canonical.graph, {});
  NodeOrder order = schedule(graph);
  ASSERT_EQ(order.in_place[0].size(), 2u) << "the product is added into tanh(v)";
  const Node* product = &order.in_place[0][0].node();
  auto at = std::find(order.order.begin(), order.order.end(), product);
  ASSERT_NE(at, order.order.begin());
  EXPECT_EQ(*(at - 1), &order.in_place[0][1].node());
}

TEST(Planner, AValueThatOnlyTheUpdateReadsLiesInTheVariable) {
  Shared w(Tensor::zeros(DType::kFloat64, {3, 4}), "w"), v(Tensor::zeros(DType::kFloat64, {3, 4}), "v");
  Expr x = matrix("x", {3, 5}), y = matrix("y", {5, 4});
  Expr new_v = 0.9 * v.expr() + 0.01 * w.expr() - 0.1 * dot(x, y);
  Program program = planned({x, y}, {}, {{v, new_v}, {w, w.expr() + new_v}});
  EXPECT_EQ(steps(program), 3u) << program_text(program);
  EXPECT_EQ(program.memory.arena_bytes, Dim(0)) << program_text(program);
}

TEST(Planner, AValueThatAnotherReadsTooKeepsItsOwnBuffer) {
  Shared v(Tensor::zeros(DType::kFloat64, {3, 4}), "v");
  Expr x = matrix("x", {3, 5}), y = matrix("y", {5, 4}), scaled = exp(v.expr());
  Program program = planned({x, y}, {sum(sqr(scaled))}, {{v, scaled + dot(x, y)}});
  EXPECT_EQ(program.memory.arena_bytes, Dim(128)) << program_text(program);
}

TEST(Planner, AnUpdateIsOneStepIntoItsVariable) {
  Shared w(Tensor::zeros(DType::kFloat64, {3, 4}), "w");
  Expr x = matrix("x", {3, 5}), y = matrix("y", {5, 4});
  Program program = planned({x, y}, {}, {{w, w.expr() - 0.1 * dot(x, y)}});
  EXPECT_EQ(steps(program), 1u) << program_text(program);
  EXPECT_EQ(program.memory.arena_bytes, Dim(0));
}

TEST(Planner, AChainOfLoopsReusesOneBuffer) {
  Expr x = matrix("x", {8, 8}), y = matrix("y", {8, 8});
  Program program = planned({x, y}, {sum(dot(tanh(dot(x, y)), y))});
  EXPECT_EQ(program.memory.arena_bytes, program.memory.lower_bound);
}

// Stores go past the caches only where no step after reads what they store, and only beyond so many bytes.
TEST(Planner, ResultsThatNobodyReadsGoPastTheCaches) {
  constexpr int64_t kRows = 40, kColumns = 16;
  const Expr x = make_input({.dtype = DType::kFloat64, .dims = {kRows, kColumns}}, "x"),
             y = make_input({.dtype = DType::kFloat64, .dims = {kColumns, kColumns}}, "y");
  Shared w(Tensor::zeros(DType::kFloat64, {kRows, kColumns}), "w");
  auto fences = [](const Program& program) {
    int out = 0;
    for_each_step(program.body, [&](const Step& step) {
      if (const auto* call = std::get_if<kernel::KernelCall>(&step.code))
        for (const kernel::Statement& s : call->function->body) out += std::holds_alternative<kernel::Fence>(s);
    });
    return out;
  };
  const Expr square = sqr(x), product = dot(square, y);
  const int64_t bytes = 2 * kRows * kColumns * int64_t{sizeof(double)};
  EXPECT_EQ(fences(planned({x}, {square}, {}, bytes - 1)), 1);
  EXPECT_EQ(fences(planned({x}, {square}, {}, bytes)), 0) << "as much as the caches hold";
  EXPECT_EQ(fences(planned({x}, {square}, {}, 0)), 0) << "never";
  EXPECT_EQ(fences(planned({x, y}, {product}, {}, 1)), 0) << "the product reads the squares";
  EXPECT_EQ(fences(planned({x, y}, {square, product}, {}, 1)), 0) << "and an output";
  EXPECT_EQ(fences(planned({x, y}, {sqr(product)}, {}, 1)), 1) << "what follows it";
  EXPECT_EQ(fences(planned({x}, {square, square}, {}, 1)), 0) << "the second is a copy of the first";
  EXPECT_EQ(fences(planned({x}, {}, {{w, w + x}}, 1)), 0) << "the next call reads a variable";
  EXPECT_EQ(fences(planned({x}, {square, x + 1}, {}, 1)), 2);
  EXPECT_EQ(fences(planned({x}, {log(x)}, {}, 1)), 0) << "reads tables";
#if defined(__x86_64__)
  EXPECT_EQ(fences(planned({x}, {exp(x)}, {}, 1)), 1) << "computed without tables";
#endif
  EXPECT_EQ(fences(planned({x}, {transpose(x) + 1}, {}, 1)), 0) << "reads columns";
  EXPECT_EQ(fences(planned({x, y}, {x + rows(y, make_constant(Tensor(int64_t{0})), 1)}, {}, 1)), 1)
      << "a row again and again";
}

TEST(Planner, ALaterReaderKeepsItsBuffer) {
  Expr x = vector("x", {16});
  Expr e = dot(matrix("m", {16, 16}), x);
  Expr m = e.node().inputs[0];
  Program program = planned({m, x}, {exp(e), dot(m, e)});
  for_each_step(program.body, [&](const Step& step) {
    for (size_t o = step.inputs; o < step.operands.size(); ++o)
      EXPECT_NE(program.buffers[static_cast<size_t>(step.operands[o].buffer)].kind, BufferKind::kInput);
  });
}

// No two temporaries that live at the same time overlap, on random graphs of lengths that are known or not.
void expect_apart(const Dims& lengths) {
  auto value_of = [](const Dim& dim) { return dim.evaluate([](const std::string&) { return int64_t{6}; }); };
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<Expr> values;
    std::vector<Expr> inputs{matrix("a", lengths), matrix("b", lengths)};
    values = inputs;
    for (int i = 0; i < 25; ++i) {
      Expr x = values[random() % values.size()], y = values[random() % values.size()];
      values.push_back(random() % 3 ? dot(x, y) : x + tanh(y));
    }
    Program program = planned(inputs, {values.back(), values[12]});
    std::vector<int> first(program.buffers.size(), -1), last(program.buffers.size(), -1);
    int now = 0;
    for_each_step(program.body, [&](const Step& step) {
      for (const BufferView& view : step.operands) {
        size_t b = static_cast<size_t>(view.buffer);
        if (first[b] < 0) first[b] = now;
        last[b] = now;
      }
      ++now;
    });
    for (size_t a = 0; a < program.buffers.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const Buffer &x = program.buffers[a], &y = program.buffers[b];
        if (x.kind != BufferKind::kTemporary || y.kind != BufferKind::kTemporary || first[a] < 0 || first[b] < 0)
          continue;
        if (last[a] < first[b] || last[b] < first[a]) continue;
        const int64_t size = 6 * 6 * 8, at_x = value_of(x.arena_offset), at_y = value_of(y.arena_offset);
        EXPECT_TRUE(at_x + size <= at_y || at_y + size <= at_x) << "seed " << seed << ", buffers " << a << " and " << b;
      }
    EXPECT_GE(value_of(program.memory.arena_bytes), value_of(program.memory.lower_bound));
    // Buffers of one size need no more locations than are alive at once, of which there are those of the worst step.
    std::vector<int64_t> alive(static_cast<size_t>(now), 0);
    for (size_t b = 0; b < program.buffers.size(); ++b)
      for (int t = first[b]; program.buffers[b].kind == BufferKind::kTemporary && t >= 0 && t <= last[b]; ++t)
        alive[static_cast<size_t>(t)] += 320;  // 6 x 6 x 8, rounded up to whole cache lines
    EXPECT_EQ(value_of(program.memory.arena_bytes), *std::max_element(alive.begin(), alive.end())) << "seed " << seed;
  }
}

TEST(MemoryPlan, LiveBuffersAreApart) {
  expect_apart({6, 6});
}

TEST(MemoryPlan, LiveBuffersOfOpenLengthsAreApart) {
  expect_apart({"n", "n"});
}

}  // namespace
}  // namespace thtrain::planner_test
