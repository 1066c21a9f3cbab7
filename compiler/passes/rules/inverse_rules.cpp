// Functions of their inverses, functions that change nothing a second time, and signs of what has none.
#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules.h"

namespace thtrain {

const std::vector<Rule>& inverse_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y");
    const Expr nan = Operand(std::numeric_limits<double>::quiet_NaN()).expr();
    constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating;
    constexpr Safety kRange = Safety::kRangeChanging, kFinite = Safety::kFiniteMath;
    return std::vector<Rule>{
        // The inner function is defined everywhere.
        {"log_of_exp", log(exp(x)), x, kRange},
        {"log2_of_exp2", log2(exp2(x)), x, kRange},
        {"log1p_of_expm1", log1p(expm1(x)), x, kRange},
        {"arcsinh_of_sinh", arcsinh(sinh(x)), x, kRange},
        {"sinh_of_arcsinh", sinh(arcsinh(x)), x, kReassociating},
        {"arctanh_of_tanh", arctanh(tanh(x)), x, kRange},
        // It is not: outside of its domain there is a NaN, which stays.
        {"exp_of_log", exp(log(x)), switch_(ge(x, 0), x, nan), kReassociating},
        {"exp2_of_log2", exp2(log2(x)), switch_(ge(x, 0), x, nan), kReassociating},
        {"expm1_of_log1p", expm1(log1p(x)), switch_(ge(x, -1), x, nan), kReassociating},
        // There was a NaN, which goes.
        {"sqr_of_sqrt", sqr(sqrt(x)), x, kFinite},
        {"tanh_of_arctanh", tanh(arctanh(x)), x, kFinite},

        // Nothing is left to do.
        {"floor_of_floor", floor(floor(x)), floor(x), kExact},
        {"ceil_of_ceil", ceil(ceil(x)), ceil(x), kExact},
        {"trunc_of_trunc", trunc(trunc(x)), trunc(x), kExact},
        {"round_of_round", round(round(x)), round(x), kExact},
        {"floor_of_ceil", floor(ceil(x)), ceil(x), kExact},
        {"ceil_of_floor", ceil(floor(x)), floor(x), kExact},
        {"sign_of_sign", sign(sign(x)), sign(x), kExact, kReals},

        // No sign to take away.
        {"abs_of_exp", abs(exp(x)), exp(x), kExact},
        {"abs_of_sigmoid", abs(sigmoid(x)), sigmoid(x), kExact},
        {"abs_of_softplus", abs(softplus(x)), softplus(x), kExact},
        {"mul_of_abs", abs(x) * abs(y), abs(x * y), kExact},
        {"div_of_abs", abs(x) / abs(y), abs(x / y), kExact},
    };
  }();
  return rules;
}

}  // namespace thtrain
