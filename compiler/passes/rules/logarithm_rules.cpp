// Logarithms: forms for values, and forms for derivatives.
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

constexpr double kLog2 = std::numbers::ln2;

// log(prod(x)) has the derivative of sum(log(x)).
Expr log_of_prod(const Expr& value, RuleContext&) {
  const Expr& product = input_of(value, 0);
  if (!is_op(product, prod_op()) || product.dtype() != value.dtype()) return {};
  return apply(sum_op(), {log(input_of(product, 0))}, product.node().props);
}

}  // namespace

// Machler, "Accurately Computing log(1 - exp(-|a|))" (2012), eq. 7: up to log(2) by expm1, then by log1p. The argument
// of the function that is not taken is replaced, so that the rule does not see its own result.
const std::vector<Rule>& logarithm_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x");
    constexpr Safety kRange = Safety::kRangeChanging;
    const Expr small = gt(x, -kLog2), near = lt(abs(x), 1.0), low = lt(x, -0.5), high = gt(x, 0.5);
    const Expr log_1_plus_tanh = switch_(low, (kLog2 + 2 * x) - softplus(2 * x), log1p(switch_(low, 0.0, tanh(x))));
    const Expr log_1_minus_tanh =
        switch_(high, (kLog2 - 2 * x) - softplus(-2 * x), log1p(switch_(high, 0.0, -tanh(x))));
    const Expr log_cosh = abs(x) + log1p(0.5 * expm1(-2 * abs(x)));
    return std::vector<Rule>{
        {"log_of_neg_expm1", log(-expm1(x)),
         switch_(small, log(switch_(small, -expm1(x), 1.0)), log1p(switch_(small, 0.0, -exp(x)))), kRange},
        {"log1p_of_neg_exp", log1p(-exp(x)),
         switch_(small, log(switch_(small, -expm1(x), 1.0)), log1p(switch_(small, 0.0, -exp(x)))), kRange},
        {"log_of_cosh", log(cosh(x)), log_cosh, kRange},
        {"log1p_of_tanh", log1p(tanh(x)), log_1_plus_tanh, kRange},
        {"log_1_minus_tanh", log(1 - tanh(x)), log_1_minus_tanh, kRange},
        {"log1p_of_neg_tanh", log1p(-tanh(x)), log_1_minus_tanh, kRange},
        {"log_1_minus_sqr_tanh", log(1 - sqr(tanh(x))), -2 * log_cosh, kRange},
        {"log1p_of_neg_sqr_tanh", log1p(-sqr(tanh(x))),
         switch_(near, log1p(switch_(near, -sqr(tanh(x)), 0.0)), -2 * log_cosh), kRange},
    };
  }();
  return rules;
}

const std::vector<Rule>& logarithm_derivative_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y"), c = any_number("c");
    constexpr Safety kRange = Safety::kRangeChanging;
    return std::vector<Rule>{
        {"derivative_of_log_of_product", log(x * y), log(x) + log(y), kRange},
        {"derivative_of_log_of_quotient", log(x / y), log(x) - log(y), kRange},
        {"derivative_of_log_of_sqr", log(sqr(x)), 2 * log(x), kRange},
        {"derivative_of_log_of_abs", log(abs(x)), log(x), kRange},
        {"derivative_of_log_of_neg", log(-x), log(x), kRange},
        {"derivative_of_log_of_sqrt", log(sqrt(x)), 0.5 * log(x), kRange},
        {"derivative_of_log_of_pow", log(pow(x, c)), c * log(x), kRange},
        {.name = "derivative_of_log_of_prod",
         .safety = kRange,
         .rewrite = log_of_prod,
         .roots = {&log_op()},
         .examples = {{{{.dtype = DType::kFloat64, .dims = {3, 5}}}, [](In in) { return log(prod(in[0], 1)); }},
                      {{{.dtype = DType::kFloat32, .dims = {4}}}, [](In in) { return log(prod(exp(in[0]))); }}}},
        {"derivative_of_log_of_difference", log(exp(x) - exp(y)), x + log(-expm1(y - x)), kRange},
        {"derivative_of_log_of_expm1", log(expm1(x)), x + log(-expm1(-x)), kRange},
        {"derivative_of_log_1_plus_tanh", log1p(tanh(x)), -softplus(-2 * x), kRange},
        {"derivative_of_log_1_minus_tanh", log(1 - tanh(x)), -softplus(2 * x), kRange},
        {"derivative_of_log1p_of_neg_tanh", log1p(-tanh(x)), -softplus(2 * x), kRange},
        {"derivative_of_log_1_minus_sqr_tanh", log(1 - sqr(tanh(x))), -2 * log(cosh(x)), kRange},
        {"derivative_of_log1p_of_neg_sqr_tanh", log1p(-sqr(tanh(x))), -2 * log(cosh(x)), kRange},
    };
  }();
  return rules;
}

}  // namespace thtrain
