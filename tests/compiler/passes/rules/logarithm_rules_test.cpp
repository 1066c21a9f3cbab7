// Logarithms of what rounds to nothing, and slopes that do.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> logarithm_rewrites() {
  return {
      {"log_of_product", [](L l) { return log(3 * sqr(l.x) * exp(l.y)); }},
      {"log_of_product", [](L l) { return log((1 + tanh(l.x)) / (1 - tanh(l.x))); }},
      {"log_of_switch", [](L l) { return log(switch_(l.b, sigmoid(l.x), l.y * l.y)); },
       [](L l) { return switch_(l.b, log(sigmoid(l.x)), log(l.y * l.y)); }},
      {"log_of_prod_of_exp", [](L l) { return log(prod(exp(l.m), 1)) + sum(exp(l.m), 1); },
       [](L l) { return sum(l.m, 1) + sum(exp(l.m), 1); }},
      {"log_of_neg_expm1", [](L l) { return log(1 - exp(-sqr(l.x))); }},
      {"log1p_of_neg_exp", [](L l) { return log1p(-exp(-sqr(l.x))); }, [](L l) { return log(1 - exp(-sqr(l.x))); }},
      {"log_of_difference", [](L l) { return log(exp(l.x) - exp(l.y)); }},
      {"log_of_expm1", [](L l) { return log(exp(l.x) - 1); }},
      {"log_of_cosh", [](L l) { return log(cosh(l.x)); },
       [](L l) { return abs(l.x) + log1p(0.5 * expm1(-2 * abs(l.x))); }},
      {"log1p_of_tanh", [](L l) { return log(1 + tanh(l.x)); }},
      {"log_1_minus_tanh", [](L l) { return log(1 - tanh(l.x)); }, [](L l) { return log1p(-tanh(l.x)); }},
      {"log1p_of_neg_tanh", [](L l) { return log1p(-tanh(l.x)); }},
      {"log_1_minus_sqr_tanh", [](L l) { return log(1 - sqr(tanh(l.x))); },
       [](L l) { return -2 * (abs(l.x) + log1p(0.5 * expm1(-2 * abs(l.x)))); }},
      {"log1p_of_neg_sqr_tanh", [](L l) { return log1p(-sqr(tanh(l.x))); }},
      {"sigmoid_slope", [](L l) { return l.y * (sigmoid(l.x) * (1 - sigmoid(l.x))); }},
      {"tanh_slope", [](L l) { return l.y * (1 - sqr(tanh(l.x))); }},
  };
}

TEST(LogarithmRules, Rewrite) {
  expect_rewrites(logarithm_rewrites());
}

std::vector<UnchangedRow> logarithm_unchanged() {
  return {
      {"log_of_neg_expm1", [](L l) { return log(expm1(l.x)); }},
      {"log_of_product", [](L l) { return log(l.x * l.y); }},
      {"log_of_product", [](L l) { return log(l.x * exp(l.y)); }},
      {"log_of_product", [](L l) { return log(-3 * exp(l.y)); }},
      {"log_of_switch", [](L l) { return log(switch_(l.b, l.x, l.y)); }},
      {"log_of_difference", [](L l) { return log(exp(l.x) - l.y); }},
      {"log_of_cosh", [](L l) { return log(cosh(l.x)); }, Level::kStrict},
      // What others read is there already: no second exponential.
      {"sigmoid_slope", [](L l) { return sigmoid(l.x) * (1 - sigmoid(l.x)) + tanh(sigmoid(l.x)); }},
      {"tanh_slope", [](L l) { return (1 - sqr(tanh(l.x))) * tanh(l.x); }},
  };
}

TEST(LogarithmRules, Stay) {
  expect_unchanged(logarithm_unchanged());
}

}  // namespace thtrain
