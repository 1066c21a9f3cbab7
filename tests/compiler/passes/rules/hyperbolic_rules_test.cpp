// The hyperbolic tangent, however it is spelled.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
std::vector<RewriteRow> hyperbolic_rewrites() {
  return {
      {"tanh", [](L l) { return (exp(l.x) - exp(-l.x)) / (exp(l.x) + exp(-l.x)); }, [](L l) { return tanh(l.x); }},
      {"tanh", [](L l) { return (exp(-l.x) - exp(l.x)) / (exp(-l.x) + exp(l.x)); }, [](L l) { return -tanh(l.x); }},
      {"tanh_of_neg", [](L l) { return tanh(-l.x); }, [](L l) { return -tanh(l.x); }, Level::kStrict},
      {"tanh_of_half", [](L l) { return (exp(2 * l.x) - 1) / (exp(2 * l.x) + 1); }, [](L l) { return tanh(l.x); }},
      {"tanh_of_neg_half", [](L l) { return (1 - exp(-2 * l.x)) / (1 + exp(-2 * l.x)); },
       [](L l) { return tanh(l.x); }},
      {"tanh_quotient", [](L l) { return sinh(l.x) / cosh(l.x); }, [](L l) { return tanh(l.x); }},
      {"2_sigmoid_minus_1", [](L l) { return 2 / (1 + exp(-2 * l.x)) - 1; }, [](L l) { return tanh(l.x); }},
      {"1_minus_2_sigmoid", [](L l) { return 1 - 2 * sigmoid(l.x); }, [](L l) { return -tanh(0.5 * l.x); }},
      {"sigmoid_of_tanh", [](L l) { return 0.5 * (1 + tanh(0.5 * l.x)); }, [](L l) { return sigmoid(l.x); }},
      {"sigmoid_of_tanh", [](L l) { return -3 * (1 + tanh(l.x)); }, [](L l) { return -6 * sigmoid(2 * l.x); }},
      {"number_plus_tanhs", [](L l) { return 0.5 * tanh(l.x) + 0.5; }, [](L l) { return sigmoid(2 * l.x); }},
      {"number_plus_tanhs", [](L l) { return 3 * tanh(l.x) + 3; }, [](L l) { return 6 * sigmoid(2 * l.x); }},
      {"number_minus_tanhs", [](L l) { return 0.5 - 0.5 * tanh(l.x); }, [](L l) { return sigmoid(-2 * l.x); }},
      {"number_minus_tanhs", [](L l) { return 3 - 3 * tanh(l.x); }, [](L l) { return 6 * sigmoid(-2 * l.x); }},
  };
}

TEST(HyperbolicRules, Rewrite) {
  expect_rewrites(hyperbolic_rewrites());
}

std::vector<UnchangedRow> hyperbolic_unchanged() {
  return {
      {"tanh", [](L l) { return (exp(l.x) - exp(-l.x)) / (exp(l.x) + exp(-l.y)); }},
      {"tanh", [](L l) { return (exp(l.x) - exp(-l.x)) / (exp(l.x) + exp(-l.x)); }, Level::kStrict},
      {"tanh_of_half", [](L l) { return expm1(l.x) / (1 + exp(l.y)); }},
      {"tanh_quotient", [](L l) { return cosh(l.x) / sinh(l.x); }},
      {"2_sigmoid_minus_1", [](L l) { return 2 * sigmoid(l.x) - 2; }},
      {"number_plus_tanhs", [](L l) { return 0.25 + 0.5 * tanh(l.x); }},
      {"number_minus_tanhs", [](L l) { return 0.25 - 0.5 * tanh(l.x); }},
  };
}

TEST(HyperbolicRules, Stay) {
  expect_unchanged(hyperbolic_unchanged());
}

}  // namespace thtrain
