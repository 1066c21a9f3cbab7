#include "compiler/runtime/profiler.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/kernel/term_cost.h"
#include "compiler/ops/cost.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"

namespace thtrain {
namespace {

TEST(Profile, CountsWhatEachStepDoes) {
  Expr x = matrix("x", {"n", 4}), w = matrix("w", {4, 3});
  Function f = function({x, w}, {exp(dot(x, w)) + 1, dot(x, w)});
  Tensor left = Tensor::zeros(DType::kFloat64, {5, 4}), right = Tensor::zeros(DType::kFloat64, {4, 3});
  std::vector<Tensor> plain = f({left, right});
  f.start_profile();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f({left, right})[0].as_double(0), plain[0].as_double(0));
  Profile profile = f.profile();
  EXPECT_EQ(profile.calls, 3);
  ASSERT_EQ(profile.steps.size(), 2u);
  EXPECT_EQ(profile.steps[0].code, "gemm_f64");
  EXPECT_EQ(profile.steps[0].calls, 3);
  EXPECT_EQ(profile.steps[0].flops, 2 * 5 * 4 * 3);
  EXPECT_EQ(profile.steps[0].bytes, 8 * (5 * 4 + 4 * 3 + 5 * 3));
  EXPECT_EQ(profile.steps[1].code, "kernel exp_add");
  EXPECT_EQ(profile.steps[1].bytes, 2 * 8 * 5 * 3);
  ASSERT_EQ(profile.time_line.size(), 6u);
  double inside = 0;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(profile.time_line[i].step, i % 2);
    EXPECT_EQ(profile.time_line[i].call, static_cast<int64_t>(i / 2));
    if (i > 0) {
      EXPECT_GE(profile.time_line[i].begin, profile.time_line[i - 1].begin + profile.time_line[i - 1].length);
    }
    inside += profile.time_line[i].length;
  }
  EXPECT_LE(inside, profile.seconds);
}

TEST(Profile, OfACopyBeginsAnew) {
  Expr x = vector("x");
  Function f = function({x}, {exp(x)});
  f.start_profile();
  f({Tensor::vector({1.0})});
  Function g(f);
  g({Tensor::vector({1.0, 2.0})});
  EXPECT_EQ(f.profile().calls, 1);
  EXPECT_EQ(g.profile().calls, 1);
  EXPECT_EQ(g.profile().steps[0].bytes, 32);
}

TEST(Profile, WhereNoneWasStarted) {
  Expr x = vector("x");
  Function f = function({x}, {exp(x)}, {}, {.name = "f"});
  try {
    f.profile();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "error: f: no call was profiled\n  hint:     call start_profile() first");
  }
  Function reference = function({x}, {exp(x)}, {}, {.mode = Mode::kReference, .name = "f"});
  try {
    reference.start_profile();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "error: f: there is no native program to watch\n"
                 "  hint:     compile the function in native or debug mode");
  }
}

// The profile and the shares of threads count by one table.
TEST(Cost, OfElementwiseOpsFollowsFromTheirCode) {
  Expr x = matrix("x", {10, 20});
  const Expr z = make_input({.dtype = DType::kComplex128, .dims = {10, 20}}, "z");
  auto flops = [](const Expr& value) { return cost_of(value.node()).flops.value() / 200; };
  EXPECT_EQ(flops(x + x), 1);
  EXPECT_EQ(flops(tanh(x)), kernel::kMathCost);
  EXPECT_EQ(flops(sqr(x)), 1);
  EXPECT_EQ(flops(cast(x, DType::kFloat32)), 0) << "no arithmetic";
  EXPECT_EQ(flops(z * z), 6) << "of complex numbers, four products and two sums";
  EXPECT_GT(weight_of(tanh(x).node()), kernel::kMathCost - 1);
  EXPECT_EQ(weight_of((x + x).node()), 3) << "operands are work";
}

TEST(Cost, OfAFusedNodeIsThatOfItsBody) {
  Expr x = matrix("x", {10, 20});
  Cost sum_cost = cost_of(sum(x, 1).node()), exp_cost = cost_of(exp(x).node());
  EXPECT_EQ(sum_cost.bytes.value(), 8 * 210);
  EXPECT_EQ(exp_cost.bytes.value(), 8 * 400);
  EXPECT_GT(exp_cost.flops.value(), 200);
}

}  // namespace
}  // namespace thtrain
