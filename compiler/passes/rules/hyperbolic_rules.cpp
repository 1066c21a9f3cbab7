// The hyperbolic tangent, however it is spelled.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules.h"

namespace thtrain {

const std::vector<Rule>& hyperbolic_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y"), c = any_number("c");
    constexpr Safety kRange = Safety::kRangeChanging;
    return std::vector<Rule>{
        {"tanh_of_neg", tanh(-x), -tanh(x), Safety::kExact},
        {"tanh", (exp(x) - exp(y)) / (exp(x) + exp(y)), tanh(0.5 * (x - y)), kRange},
        {"tanh_of_half", expm1(x) / (1 + exp(x)), tanh(0.5 * x), kRange},
        {"tanh_of_neg_half", -expm1(x) / (1 + exp(x)), -tanh(0.5 * x), kRange},
        {"tanh_quotient", sinh(x) / cosh(x), tanh(x), kRange},
        {"sigmoid_of_tanh", c * (1 + tanh(x)), 2 * c * sigmoid(2 * x), kRange},
        {"number_plus_tanhs", c + c * tanh(x), 2 * c * sigmoid(2 * x), kRange},
        {"number_minus_tanhs", c - c * tanh(x), 2 * c * sigmoid(-2 * x), kRange},
        {"2_sigmoid_minus_1", 2 * sigmoid(x) - 1, tanh(0.5 * x), kRange},
        {"1_minus_2_sigmoid", 1 - 2 * sigmoid(x), -tanh(0.5 * x), kRange},
    };
  }();
  return rules;
}

}  // namespace thtrain
