// Bodies of loops and branches are planned as programs are: in place, into views, in shared memory, without copies.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/shared.h"

namespace thtrain::bodies_test {
namespace {

Program planned(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                const std::vector<Update>& updates = {}) {
  CanonicalGraph canonical = canonical_lengths({inputs, outputs, updates});
  return plan(optimize(canonical.graph, {}), canonical.value_checks, {.target = {.vector_bytes = 32}});
}

const Loop& loop_of(const Region& region) {
  for (const auto& item : region.items)
    if (const Loop* loop = std::get_if<Loop>(&item)) return *loop;
  throw std::logic_error("no loop");
}

const Branch& branch_of(const Region& region) {
  for (const auto& item : region.items)
    if (const Branch* branch = std::get_if<Branch>(&item)) return *branch;
  throw std::logic_error("no branch");
}

size_t steps(const Region& region) {
  size_t out = 0;
  for_each_step(region, [&](const Step&) { ++out; });
  return out;
}

size_t copies(const Region& region) {
  size_t out = 0;
  for_each_step(region, [&](const Step& step) { out += step.node == nullptr; });
  return out;
}

const Step& step_of(const Region& region, size_t number) {
  return std::get<Step>(region.items.at(number));
}

TEST(Bodies, ACarriedStateIsUpdatedInPlace) {
  const Expr x = vector("x", {64}), c = vector("c", {64});
  const Program program =
      planned({x, c}, repeat(10, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{tanh(s[0] * c)}; }));
  const Region& iteration = *loop_of(program.body).body;
  ASSERT_EQ(iteration.items.size(), 1u) << program_text(program);
  const Step& step = step_of(iteration, 0);
  EXPECT_TRUE(std::any_of(step.operands.begin(), step.operands.begin() + 2, [&](const BufferView& operand) {
    return operand.buffer == step.operands.back().buffer;
  })) << program_text(program);
  EXPECT_EQ(program.memory.arena_bytes.value(), 0) << "the state lives in the output";
}

TEST(Bodies, ALoopUpdatesASharedVariableWithoutACopy) {
  Shared w(Tensor::zeros(DType::kFloat32, {64}), "w");
  const std::vector<Expr> last =
      repeat(10, {w.expr()}, [](const std::vector<Expr>& s) { return std::vector<Expr>{0.5 * s[0] + 1}; });
  const Program program = planned({}, {}, {{w, last[0]}});
  EXPECT_EQ(steps(program.body), 1u) << program_text(program);
  EXPECT_EQ(copies(program.body), 0u) << program_text(program);
}

TEST(Bodies, AStateOfWhichAllIterationsAreReadLivesInTheSlotsOfItsHistory) {
  const Expr x = vector("x", {64});
  const Expr last = repeat(10, {x}, [](const std::vector<Expr>& s) { return std::vector<Expr>{sin(s[0]) * s[0]}; })[0];
  const Program program = planned({x}, {grad(sum(last), x)});
  const Region& iteration = *loop_of(program.body).body;
  ASSERT_EQ(iteration.items.size(), 1u) << program_text(program);
  const Step& step = step_of(iteration, 0);
  EXPECT_EQ(step.operands.front().buffer, step.operands.back().buffer);
  EXPECT_EQ(readable(step.operands.front().layout.offset.text()), "64*iteration");
  EXPECT_EQ(readable(step.operands.back().layout.offset.text()), "64*iteration + 64");
}

TEST(Bodies, StatesThatNeedEachOthersOldValueAreSavedFirst) {
  const Expr x = vector("x", {8}), y = vector("y", {8});
  const Program program = planned({x, y}, repeat(3, {x, y}, [](const std::vector<Expr>& s) {
                                    return std::vector<Expr>{s[1], s[0] + s[1]};
                                  }));
  const Region& iteration = *loop_of(program.body).body;
  EXPECT_LE(copies(iteration), 2u) << program_text(program);
  EXPECT_EQ(steps(iteration) - copies(iteration), 1u) << program_text(program);
}

TEST(Bodies, TemporariesOfABodyShareMemory) {
  const Expr x = matrix("x", {16, 16}), a = matrix("a", {16, 16});
  auto chain = [&](int length) {
    return planned({x, a}, repeat(4, {x}, [&](const std::vector<Expr>& s) {
                     Expr value = s[0];
                     for (int i = 0; i < length; ++i) value = dot(value, a);
                     return std::vector<Expr>{value};
                   }));
  };
  EXPECT_EQ(chain(8).memory.arena_bytes.value(), chain(4).memory.arena_bytes.value());
  EXPECT_EQ(chain(8).memory.arena_bytes.value(), 2 * 16 * 16 * 8) << program_text(chain(8));
}

TEST(Bodies, TemporariesOfABodyShareMemoryWithThoseOutside) {
  const Expr x = matrix("x", {16, 16}), a = matrix("a", {16, 16});
  auto body = [&](const std::vector<Expr>& s) { return std::vector<Expr>{dot(dot(s[0], a), a)}; };
  const Expr last = repeat(4, {x}, body)[0];
  const Program alone = planned({x, a}, {last});
  const Program after = planned({x, a}, {dot(dot(last, a), a)});
  // One matrix more: the last state, which the loop gives to the products after it. What they need between them lies
  // where the body's temporary lay.
  EXPECT_EQ(after.memory.arena_bytes.value(), alone.memory.arena_bytes.value() + 16 * 16 * 8) << program_text(after);
}

TEST(Bodies, TheTwoSidesOfABranchShareMemory) {
  const Expr x = matrix("x", {16, 16}), a = matrix("a", {16, 16});
  auto side = [&](const Expr& first) { return [&, first] { return dot(dot(dot(first, a), a), a); }; };
  const Program one = planned({x, a}, {dot(dot(dot(x, a), a), a)});
  const Program two = planned({x, a}, {if_else(gt(sum(x), 0), side(x), side(a))});
  EXPECT_LE(two.memory.arena_bytes.value(), one.memory.arena_bytes.value() + 2 * 64) << program_text(two);
}

TEST(Bodies, ACopyOfWhatALoopDoesNotChangeIsMadeOnceBeforeIt) {
  const Expr x = vector("x", {16}), a = matrix("a", {64, 64});
  // Products read rows with gaps, but not elements with gaps: every second column has to be copied.
  const Expr gaps = subtensor(a, {Slice{.step = 4}, Slice{.step = 4}});
  const Program program =
      planned({x, a}, repeat(3, {x}, [&](const std::vector<Expr>& s) { return std::vector<Expr>{dot(s[0], gaps)}; }));
  const auto copies_in = [](const Region& region) {
    size_t out = 0;
    for_each_step(region, [&](const Step& step) { out += step.comment == "row-major copy"; });
    return out;
  };
  EXPECT_EQ(copies_in(program.body), 1u) << program_text(program);
  EXPECT_EQ(copies_in(*loop_of(program.body).body), 0u) << program_text(program);
}

TEST(Bodies, AnUpdateUnderAConditionTouchesNothingWhereItDoesNotHold) {
  Shared w(Tensor::zeros(DType::kFloat32, {64}), "w");
  const Expr x = vector("x", {64});
  const Expr next = if_else(
      gt(sum(x), 0), [&] { return w.expr() + cast(x, DType::kFloat32); }, [&] { return w.expr(); });
  const Program program = planned({x}, {}, {{w, next}});
  const Branch& branch = branch_of(program.body);
  EXPECT_EQ(steps(*branch.then), 1u) << program_text(program);
  EXPECT_EQ(steps(*branch.otherwise), 0u) << program_text(program);
  EXPECT_EQ(copies(program.body), 0u) << program_text(program);
}

TEST(Bodies, TheProgramTextShowsLoopsAndBranches) {
  const Expr x = vector("x", {4});
  const Expr last = repeat(3, {x}, [](const std::vector<Expr>& s) {
    return std::vector<Expr>{if_else(
        gt(sum(s[0]), 0), [&] { return exp(s[0]); }, [&] { return s[0]; })};
  })[0];
  const std::string text = program_text(planned({x}, {last}));
  for (const char* part : {"loop iteration from 0 to 3 - 1: scan\n", "  if ", "  else\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
}

}  // namespace
}  // namespace thtrain::bodies_test
