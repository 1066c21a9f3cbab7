#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> log_sum_exp_rewrites() {
  return {
      {"log_sum_exp", [](L l) { return log(sum(exp(l.m), 1)); }},
      {"log_sum_exp", [](L l) { return log(sum(exp(l.m), 0, true)); }},
      {"log_sum_exp", [](L l) { return log(sum(exp(l.x))) * l.y; }},
      {"log_sum_exp", [](L l) { return log(mean(exp(l.m), 1)); }},
      {"log_sum_exp", [](L l) { return log(3 * sum(exp(l.m), 0, true)); }},
      {"log_sum_exp", [](L l) { return log(sum(exp(l.m), 1)) + sum(exp(l.m), 1); }},
  };
}

TEST(LogSumExpRules, Rewrite) {
  expect_rewrites(log_sum_exp_rewrites());
}

std::vector<UnchangedRow> log_sum_exp_unchanged() {
  return {
      {"log_sum_exp", [](L l) { return log(sum(l.m, 1)); }},
      {"log_sum_exp", [](L l) { return log(max(exp(l.m), 1)); }},
      {"log_sum_exp", [](L l) { return log(sum(exp(l.m - max(l.m, 1, true)), 1)); }},  // as it is, it is stable
      {"log_sum_exp", [](L l) { return l.m - log(sum(exp(l.m), 1, true)); }},          // a log-softmax
      {"log_sum_exp", [](L l) { return log(sum(exp(l.m), 1)); }, Level::kStrict},
      {"log_sum_exp", [](L) { return log(sum(exp(make_input({.dtype = DType::kFloat64, .dims = {1}}, "u")))); }},
  };
}

TEST(LogSumExpRules, Stay) {
  expect_unchanged(log_sum_exp_unchanged());
}

TEST(LogSumExpRules, IsFiniteWhereSumsOverflow) {
  const Leaves& l = leaves();
  const double inf = INFINITY;
  for (const auto& [x, expected] :
       {std::pair{Tensor::vector({1000., 999., -5., 0., 1., 2., 3.}), 1000.3132616875182},
        {Tensor::vector({-1000., -1000., -inf, -inf, -inf, -inf, -inf}), -999.3068528194400},
        {Tensor::vector({-inf, -inf, -inf, -inf, -inf, -inf, -inf}), -inf},
        {Tensor::vector({inf, 0., 1., 2., 3., 4., 5.}), inf}}) {
    const Expr value = log(sum(exp(l.x)));
    const std::vector<Expr> out = stable_all({value, grad(value, l.x)});
    EXPECT_DOUBLE_EQ(evaluate({out[0]}, {{l.x, x}})[0].as_double(), expected);
    if (std::isfinite(expected)) {
      EXPECT_TRUE(std::isfinite(evaluate({out[1]}, {{l.x, x}})[0].as_double(0)));
    }
  }
}

// Lengths that only the call knows: no elements have the sum 0, and its logarithm is -inf.
TEST(LogSumExpRules, OverLengthsThatOnlyTheCallKnows) {
  const Expr x = make_input({.dtype = DType::kFloat64, .dims = {"n", "k"}}, "x");
  const Expr value = log(sum(exp(x), 1)), average = log(mean(exp(x), 1));
  const std::vector<Expr> out = stable_all({value, average, grad(sum(value), x)});
  const Tensor some = Tensor::of(std::vector<double>{1000, 1000, -1000, -999}, {2, 2});
  const std::vector<Tensor> got = evaluate(out, {{x, some}});
  EXPECT_DOUBLE_EQ(got[0].as_double(0), 1000 + std::log(2));
  EXPECT_DOUBLE_EQ(got[0].as_double(1), -999 + std::log1p(std::exp(-1.)));
  EXPECT_DOUBLE_EQ(got[1].as_double(0), 1000);
  EXPECT_DOUBLE_EQ(got[2].contiguous().as_double(0), 0.5);
  const std::vector<Tensor> none = evaluate(out, {{x, Tensor::zeros(DType::kFloat64, {2, 0})}});
  EXPECT_EQ(none[0].as_double(0), -INFINITY);
  EXPECT_TRUE(std::isnan(none[1].as_double(0)));  // the mean of nothing
  EXPECT_EQ(none[2].size(), 0);
}

}  // namespace thtrain
