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
      // A call may bring no elements.
      {"log_sum_exp", [](L) { return log(sum(exp(make_input({.dtype = DType::kFloat64, .dims = {"n"}}, "u")))); }},
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

}  // namespace thtrain
