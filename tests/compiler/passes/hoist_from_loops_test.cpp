// What a loop's body computes from nothing that changes: what leaves the loop, what stays, values.
#include "compiler/passes/hoist_from_loops.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/numbers.h"
#include "tests/support/passes.h"
#include "tests/support/steps.h"

namespace thtrain::hoist_from_loops_test {
namespace {

using States = std::vector<Expr>;

const Expr x = vector("x", {6}), c = vector("c", {6}), a = matrix("a", {6, 6});

Graph hoisted(const Expr& output) {
  const Graph out = run_pass("hoist_from_loops", {leaves_of(States{output}), {output}, {}});
  verify(out, "hoist_from_loops");
  return out;
}

// The ops before the loop, and the loop.
Steps before_loop(const Expr& output) {
  return steps_of(hoisted(output));
}

// The ops of the body of the outermost loop.
Steps in_loop(const Expr& output) {
  const Graph out = hoisted(output);
  for (const Node* node : topological_order(out.roots()))
    if (node->op == &scan_op()) return steps_of(*node->bodies[0]);
  return {"no loop"};
}

Expr loop(const std::function<Expr(const Expr&)>& iteration, int64_t count = 5) {
  return repeat(count, {x}, [&](const States& s) { return States{iteration(s[0])}; })[0];
}

TEST(HoistFromLoops, AProductOfCapturesLeavesTheLoop) {
  const Expr out = loop([](const Expr& s) { return s * 0.5 + dot(a, c); });
  EXPECT_EQ(before_loop(out), (Steps{"dot", "scan"}));
  EXPECT_EQ(in_loop(out), (Steps{"mul", "add"}));
}

TEST(HoistFromLoops, WhatFollowsFromItGoesWithIt) {
  const Expr out = loop([](const Expr& s) { return s * (exp(c) * 2 + 1); });
  EXPECT_EQ(before_loop(out), (Steps{"exp", "mul", "add", "scan"}));
  EXPECT_EQ(in_loop(out), Steps{"mul"});
}

TEST(HoistFromLoops, LeavesAllLoopsAroundIt) {
  const Expr out = loop(
      [](const Expr& s) { return repeat(3, {s}, [&](const States& t) { return States{t[0] + sum(dot(a, c))}; })[0]; });
  EXPECT_EQ(before_loop(out), (Steps{"dot", "sum", "scan"}));
}

TEST(HoistFromLoops, GoesAsFarAsItChanges) {
  const Expr out =
      loop([](const Expr& s) { return repeat(3, {s}, [&](const States& t) { return States{t[0] + dot(a, s)}; })[0]; });
  EXPECT_EQ(before_loop(out), Steps{"scan"});
  EXPECT_EQ(in_loop(out), (Steps{"dot", "scan"}));
}

TEST(HoistFromLoops, Stay) {
  EXPECT_EQ(before_loop(loop([](const Expr& s) { return s + dot(a, s); })), Steps{"scan"}) << "it changes";
  EXPECT_EQ(before_loop(loop([](const Expr& s) { return s + (2 * c + 1); })), Steps{"scan"}) << "it costs nothing";
  EXPECT_EQ(before_loop(loop([](const Expr& s) { return s + dot(a, c); }, 0)), Steps{"scan"})
      << "no iteration computes it";
  EXPECT_EQ(before_loop(loop([](const Expr& s) { return dot(transpose(a), s); })), Steps{"scan"}) << "a view";
  EXPECT_EQ(before_loop(loop([](const Expr& s) { return s + print(dot(a, c), "each iteration"); })),
            (Steps{"dot", "scan"}))
      << "what is printed goes, the print stays";
  EXPECT_EQ(before_loop(loop([](const Expr& s) {
              return if_else(
                  gt(sum(s), 0), [&] { return s + dot(a, c); }, [&] { return s; });
            })),
            Steps{"scan"})
      << "no iteration may take that side";
}

// Where a call says how many iterations there are, it may say 0: a product moves, a read that may fail does not.
TEST(HoistFromLoops, WhatCannotFailLeavesALoopThatMayHaveNoIteration) {
  const Expr n = iscalar("n"), at = iscalar("at");
  auto of = [&](const std::function<Expr(const Expr&)>& step) {
    return scan([&](Expr s) { return step(s); }, {.outputs_info = {x}, .n_steps = n}).outputs;
  };
  EXPECT_EQ(before_loop(of([](const Expr& s) { return s + dot(a, c); })), (Steps{"dot", "scan"}));
  const Expr reads = of([&](const Expr& s) { return s * take(c, at); });
  EXPECT_EQ(before_loop(reads), Steps{"scan"});
  Function f = function({x, c, n, at}, {sum(reads)});
  const Tensor three = numbers(x.type(), 1), values = numbers(c.type(), 2);
  EXPECT_EQ(f({three, values, Tensor(int64_t{0}), Tensor(int64_t{1000})})[0].as_double(), 0);
  EXPECT_THROW(f({three, values, Tensor(int64_t{1}), Tensor(int64_t{1000})}), UserError);
}

TEST(HoistFromLoops, GivesTheSameBits) {
  const Expr w = loop([](const Expr& s) { return tanh(s + dot(a, sqr(c)) + sum(exp(c))) * c; });
  const std::vector<Expr> gradients = grad(sum(w * c), {x, c, a});
  const std::vector<In> inputs{x, c, a};
  const std::vector<Out> outputs{w, gradients[0], gradients[1], gradients[2]};
  std::vector<Tensor> values;
  for (const In& input : inputs) values.push_back(numbers(input.variable.type(), values.size() + 1));
  const std::vector<Tensor> with = function(inputs, outputs)(values),
                            without = function(inputs, outputs, {}, {.without = {"hoist_from_loops"}})(values),
                            debug = function(inputs, outputs, {}, {.mode = Mode::kDebug})(values);
  for (size_t k = 0; k < with.size(); ++k) {
    EXPECT_TRUE(same_bits(with[k], without[k])) << "output " << k;
    EXPECT_TRUE(same_bits(with[k], debug[k])) << "output " << k;
  }
}

}  // namespace
}  // namespace thtrain::hoist_from_loops_test
