// Which spellings of the logistic function and its kin are known, and which must not be taken for it. The table follows
// the ones that Theano's sigmoid was tested with.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> exponential_rewrites() {
  return {
      {"log1p", [](L l) { return log(1 + sqr(l.x)); }, [](L l) { return log1p(sqr(l.x)); }},
      {"log1p", [](L l) { return log(sqr(l.m) + ones_like(l.x)); }, [](L l) { return log1p(sqr(l.m)); }},
      {"log1p", [](L l) { return log(1.0f + sqr(l.f)); }, [](L l) { return log1p(sqr(l.f)); }},
      {"log1p_of_exp", [](L l) { return log(1 + exp(l.x)); }, [](L l) { return softplus(l.x); }},
      {"log_of_exp", [](L l) { return log(exp(l.x)); }, [](L l) { return l.x; }},
      {"log_of_sqr", [](L l) { return log(sqr(l.x)); }, [](L l) { return 2 * log(abs(l.x)); }},
      {"log_of_sqr", [](L l) { return log(pow(l.x, 2)) + sqr(l.y); }},
      {"softplus_minus_x", [](L l) { return softplus(l.x) - l.x; }, [](L l) { return softplus(-l.x); }},
      {"x_minus_softplus", [](L l) { return l.x - log(1 + exp(l.x)); }, [](L l) { return -softplus(-l.x); }},
      {"softplus_minus_softplus", [](L l) { return log(sigmoid(l.x)) - log1p(-sigmoid(l.x)); },
       [](L l) { return l.x; }},
      {"softplus_minus_softplus_of_neg", [](L l) { return log1p(-sigmoid(l.x)) - log(sigmoid(l.x)); },
       [](L l) { return -l.x; }},
      {"log1p_of_neg_erf", [](L l) { return log1p(-erf(l.x)); }, [](L l) { return log(erfc(l.x)); }},
      {"log1p_of_erf", [](L l) { return log1p(erf(l.x)); }, [](L l) { return log(erfc(-l.x)); }},
      {"1_minus_erf", [](L l) { return log(1 - erf(l.x)); }, [](L l) { return log(erfc(l.x)); }},
      {"log_add_exp", [](L l) { return log(exp(l.x) + exp(l.y)); }},
      {"log_of_sigmoid", [](L l) { return log(sigmoid(l.x)); }, [](L l) { return -softplus(-l.x); }},
      {"log_of_1_minus_sigmoid", [](L l) { return log(1 - sigmoid(l.x)) * sigmoid(l.x); },
       [](L l) { return -(softplus(l.x) * sigmoid(l.x)); }},
      {"log_of_sigmoid", [](L l) { return log(1 - sigmoid(l.x)); }, [](L l) { return -softplus(l.x); }},
      {"log1p_of_neg_sigmoid", [](L l) { return log1p(-sigmoid(l.x)); }, [](L l) { return -softplus(l.x); }},
      {"expm1", [](L l) { return exp(l.x) - 1; }, [](L l) { return expm1(l.x); }},
      {"neg_expm1", [](L l) { return 1 - exp(l.x); }, [](L l) { return -expm1(l.x); }},
      {"sigmoid", [](L l) { return 1 / (1 + exp(-l.x)); }, [](L l) { return sigmoid(l.x); }},
      {"sigmoid_of_neg", [](L l) { return 1 / (exp(l.x) + 1); }, [](L l) { return sigmoid(-l.x); }},
      {"sigmoid_quotient", [](L l) { return exp(l.x) / (1 + exp(l.x)); }, [](L l) { return sigmoid(l.x); }},
      {"over_1_plus_exp", [](L l) { return l.y / (1 + exp(l.x)); }, [](L l) { return l.y * sigmoid(-l.x); }},
      {"over_minus_1_minus_exp", [](L l) { return l.y / (-1 - exp(l.x)); }, [](L l) { return -(l.y * sigmoid(-l.x)); }},
      {"1_minus_sigmoid", [](L l) { return 1 - sigmoid(l.x); }, [](L l) { return sigmoid(-l.x); }},
      {"number_minus_sigmoids", [](L l) { return 1 - (2 * sigmoid(l.x) - 1); }, [](L l) { return 2 * sigmoid(-l.x); }},
      {"over_exp", [](L l) { return l.y / exp(l.x); }, [](L l) { return l.y * exp(-l.x); }},
      {"exp_over_sum", [](L l) { return exp(l.x) / (exp(l.y) + exp(l.x)); }, [](L l) { return sigmoid(l.x - l.y); }},
      {"over_sum_times_exp", [](L l) { return l.z / (exp(l.x) + exp(l.y)) * exp(l.y); },
       [](L l) { return l.z * sigmoid(l.y - l.x); }},
      {"erf_of_neg", [](L l) { return erf(-l.x); }, [](L l) { return -erf(l.x); }, Level::kStrict},
      {"1_minus_erf", [](L l) { return 1 - erf(l.x); }, [](L l) { return erfc(l.x); }},
      {"1_plus_erf", [](L l) { return 1 + erf(l.x); }, [](L l) { return erfc(-l.x); }},
      {"1_minus_erfc", [](L l) { return 1 - erfc(l.x); }, [](L l) { return erf(l.x); }},
      {"erfc_minus_1", [](L l) { return erfc(l.x) - 1; }, [](L l) { return -erf(l.x); }},
  };
}

TEST(ExponentialRules, Rewrite) {
  expect_rewrites(exponential_rewrites());
}

std::vector<UnchangedRow> exponential_unchanged() {
  return {
      {"", [](L l) { return 1 / (2 + exp(-l.x)); }},
      {"", [](L l) { return 1 / (1 - l.x); }},
      {"", [](L l) { return log(1 - l.x); }},
      {"", [](L l) { return exp(l.x + 1); }},
      {"", [](L l) { return log(2 + l.x); }},
      {"", [](L l) { return exp(l.x) - 2; }},
      {"", [](L l) { return exp(l.x) / (1 + exp(l.y)) * 0 + exp(l.y); }, Level::kStrict},
      {"sigmoid_quotient", [](L l) { return exp(l.x) / (2 + exp(l.x)); }},
      {"sigmoid_quotient", [](L l) { return exp(l.x + 1) / (1 + exp(l.x)); }},
      {"sigmoid_quotient", [](L l) { return exp(l.y) / (1 + exp(l.x)); }},
      {"sigmoid", [](L l) { return 1 / (1 - exp(-l.x)); }},
      {"sigmoid", [](L l) { return 1 / (1 + exp(-l.x)); }, Level::kStrict},
      {"log1p", [](L l) { return log(1 + l.x); }, Level::kStrict},
      {"log_of_sqr", [](L l) { return log(sqr(l.x)) + sqr(l.x); }},
      {"softplus_minus_x", [](L l) { return softplus(l.x) - l.y; }},
      {"softplus_minus_softplus", [](L l) { return softplus(l.x) - softplus(-l.y); }},
      {"log_of_exp", [](L l) { return log(exp(l.x) + 2); }},
      // One exponential is enough where sigmoid(x) is read elsewhere.
      {"1_minus_sigmoid", [](L l) { return sigmoid(l.x) * (1 - sigmoid(l.x)); }},
      {"over_exp", [](L l) { return l.y / exp(l.x) + exp(l.x); }},
      {"mul_of_exp", [](L l) { return exp(l.x) * exp(l.y) + tanh(exp(l.x)) * tanh(exp(l.y)); }},
      {"log_of_sqrt", [](L l) { return log(sqrt(l.x)) + tanh(sqrt(l.x)); }},
      // No such functions of complex numbers.
      {"log1p", [](L l) { return real(log(1 + cast(l.x, DType::kComplex128))); }},
  };
}

TEST(ExponentialRules, Stay) {
  expect_unchanged(exponential_unchanged());
}

TEST(ExponentialRules, OneForm) {
  expect_one_form({[](L l) { return sigmoid(l.x); }, [](L l) { return 1 / (1 + exp(-l.x)); },
                   [](L l) { return reciprocal(exp(-l.x) + 1); }, [](L l) { return pow(1 + exp(-l.x), -1); },
                   [](L l) { return exp(l.x) / (1 + exp(l.x)); }, [](L l) { return exp(l.x) / (exp(l.x) + 1); },
                   [](L l) { return -1 / (-1 - exp(-l.x)); }});
  expect_one_form({[](L l) { return softplus(l.x); }, [](L l) { return log(1 + exp(l.x)); },
                   [](L l) { return log1p(exp(l.x)); }, [](L l) { return -log(sigmoid(-l.x)); },
                   [](L l) { return -log(1 / (1 + exp(l.x))); }});
}

}  // namespace thtrain
