// Logarithms, exponentials and what networks make of them, in forms that neither overflow nor cancel.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules.h"

namespace thtrain {
const std::vector<Rule>& exponential_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y"), z = any_value("z"), c = any_number("c");
    constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating;
    constexpr Safety kRange = Safety::kRangeChanging;
    const RuleCondition sigmoid_once = operands_have_one_use(sigmoid_op()), exp_once = operands_have_one_use(exp_op());
    return std::vector<Rule>{
        // Logarithms. log(1 - x) stays: that it is log1p(-x) helps only where x is small, and hides the difference.
        {"log1p", log(1 + x), log1p(x), kRange},
        {"log1p_of_exp", log1p(exp(x)), softplus(x), kRange},
        {.name = "log_add_exp",
         .from = log(exp(x) + exp(y)),
         .to = maximum(x, y) + log1p(exp(-abs(x - y))),
         .safety = kRange,
         .values_only = true},
        {"log_of_sigmoid", log(sigmoid(x)), -softplus(-x), kRange},
        {"log_of_1_minus_sigmoid", log(1 - sigmoid(x)), -softplus(x), kRange},
        {"log1p_of_neg_sigmoid", log1p(-sigmoid(x)), -softplus(x), kRange},
        {"expm1", exp(x) - 1, expm1(x), kRange},
        {"neg_expm1", 1 - exp(x), -expm1(x), kRange},

        {"mul_of_exp", exp(x) * exp(y), exp(x + y), kRange, kFloats, exp_once},
        {"log_of_sqr", log(sqr(x)), 2 * log(abs(x)), kRange, kFloats, operands_have_one_use(sqr_op())},
        {"log_of_sqrt", log(sqrt(x)), 0.5 * log(x), kReassociating, kFloats, operands_have_one_use(sqrt_op())},

        {"softplus_minus_x", softplus(x) - x, softplus(-x), kRange},
        {"x_minus_softplus", x - softplus(x), -softplus(-x), kRange},
        {"softplus_minus_softplus", softplus(x) - softplus(-x), x, kRange},
        {"softplus_minus_softplus_of_neg", softplus(-x) - softplus(x), -x, kRange},

        // The sigmoid, however it is spelled.
        {"sigmoid", 1 / (1 + exp(-x)), sigmoid(x), kRange},
        {"sigmoid_of_neg", 1 / (1 + exp(x)), sigmoid(-x), kRange},
        {"sigmoid_quotient", exp(x) / (1 + exp(x)), sigmoid(x), kRange},
        {"over_1_plus_exp_neg", y / (1 + exp(-x)), y * sigmoid(x), kRange},
        {"over_1_plus_exp", y / (1 + exp(x)), y * sigmoid(-x), kRange},
        {"over_minus_1_minus_exp", y / (-1 - exp(x)), -(y * sigmoid(-x)), kRange},
        // Where sigmoid(x) is read elsewhere too, the difference is cheaper than a second exponential.
        {"1_minus_sigmoid", 1 - sigmoid(x), sigmoid(-x), kRange, kFloats, sigmoid_once},
        {"number_minus_sigmoids", c - c * sigmoid(x), c * sigmoid(-x), kRange},
        {"exp_over_sum", exp(x) / (exp(x) + exp(y)), sigmoid(x - y), kRange},
        {"over_sum_times_exp", z / (exp(x) + exp(y)) * exp(x), z * sigmoid(x - y), kRange},
        {"over_exp", y / exp(x), y * exp(-x), kReassociating, kFloats, exp_once},

        // The error function.
        {"erf_of_neg", erf(-x), -erf(x), kExact},
        {"log1p_of_neg_erf", log1p(-erf(x)), log(erfc(x)), kRange},
        {"log1p_of_erf", log1p(erf(x)), log(erfc(-x)), kRange},
        {"1_minus_erf", 1 - erf(x), erfc(x), kRange},
        {"1_plus_erf", 1 + erf(x), erfc(-x), kRange},
        {"1_minus_erfc", 1 - erfc(x), erf(x), kRange},
        {"erfc_minus_1", erfc(x) - 1, -erf(x), kRange},
    };
  }();
  return rules;
}

}  // namespace thtrain
