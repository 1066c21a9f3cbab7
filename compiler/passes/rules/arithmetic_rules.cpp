// Signs, zeros and ones.
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules.h"

namespace thtrain {

// A sign moves to the whole only where that does not make it a longer loop.
static RuleCondition as_long_as_the_result(const Expr& variable) {
  return [variable](const Binding& b, const RuleContext&) { return b.value(variable).dims() == b.root().dims(); };
}

// A negative number whose opposite is exact. An unsigned one has no sign.
static RuleCondition is_negative(const Expr& number) {
  return [number](const Binding& b, const RuleContext&) {
    const DType dtype = b.root().dtype();
    if (is_unsigned_int(dtype)) return false;
    const double lowest = -std::ldexp(1.0, static_cast<int>(8 * size_of(dtype)) - 1);
    return b.number(number) < 0 && (is_float(dtype) || b.number(number) > lowest);
  };
}

static bool has_signs(const Binding& b, const RuleContext&) {
  return !is_unsigned_int(b.root().dtype());
}

const std::vector<Rule>& arithmetic_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y"), c = any_number("c");
    constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating, kFinite = Safety::kFiniteMath;
    // A sign that a number takes up must not make a product that others read a second time.
    const RuleCondition product_once = operands_have_one_use(mul_op()),
                        quotient_once = operands_have_one_use(true_div_op()),
                        sum_once = operands_have_one_use(add_op());
    return std::vector<Rule>{
        // Signs. Those that are not exact give a zero of the other sign.
        {"neg_neg", -(-x), x, kExact, kReals},
        {"add_of_neg", x + (-y), x - y, kExact, kReals},
        {"sub_of_neg", x - (-y), x + y, kExact, kReals},
        {"neg_of_sub", -(x - y), y - x, kReassociating, kReals},
        {"sub_from_neg", (-x) - y, -(x + y), kReassociating, kReals, as_long_as_the_result(x)},
        {"mul_of_negs", (-x) * (-y), x * y, kExact, kReals},
        {"div_of_negs", (-x) / (-y), x / y, kExact},
        {"neg_times_number", -(c * x), (-c) * x, kExact, kReals, product_once},
        {"neg_of_number_over", -(c / x), (-c) / x, kExact, kFloats, quotient_once},
        {"neg_over_number", (-x) / c, x / (-c), kExact},
        {"neg_of_over_number", -(x / c), x / (-c), kExact, kFloats, quotient_once},
        {"neg_of_add_number", -(x + c), (-c) - x, kReassociating, kReals, sum_once},
        {"number_over_neg", c / (-x), (-c) / x, kExact},
        {"mul_of_neg_number", (-x) * c, x * (-c), kExact, kReals},
        {"mul_of_neg", (-x) * y, -(x * y), kExact, kReals, as_long_as_the_result(x)},
        {"neg_over", (-x) / y, -(x / y), kExact, kFloats, as_long_as_the_result(x)},
        {"over_neg", x / (-y), -(x / y), kExact, kFloats, as_long_as_the_result(y)},
        {"add_negative_number", x + c, x - (-c), kExact, kReals, is_negative(c)},
        {"sub_negative_number", x - c, x + (-c), kExact, kReals, is_negative(c)},
        {"add_negative_multiple", x + c * y, x - (-c) * y, kExact, kReals, is_negative(c)},
        {"sub_negative_multiple", x - c * y, x + (-c) * y, kExact, kReals, is_negative(c)},
        {"abs_of_neg", abs(-x), abs(x), kExact, kReals, has_signs},
        {"sqr_of_neg", sqr(-x), sqr(x), kExact, kReals},
        {"sqr_of_abs", sqr(abs(x)), sqr(x), kExact, kReals},
        {"abs_of_abs", abs(abs(x)), abs(x), kExact, kReals},
        {"abs_of_sqr", abs(sqr(x)), sqr(x), kExact},

        // Zeros. -0 + 0 is 0, so that dropping a 0 is not exact; dropping a -0 is.
        {"add_negative_zero", x + (-0.0), x, kExact},
        {"add_zero", x + 0, x, kReassociating, kAll},
        {"sub_zero", x - 0, x, kExact, kReals},
        {"sub_from_zero", 0 - x, -x, kReassociating, kReals},
        {"mul_by_zero", x * 0, Operand(0).expr(), kFinite, kAll, {}, true},
        {"zero_over", 0 / x, Operand(0).expr(), kFinite, kFloats | kComplexes, {}, true},
        {"sub_of_same", x - x, Operand(0).expr(), kFinite, kNumbers},

        // Ones.
        {"mul_by_one", x * 1, x, kExact, kBools | kReals},
        {"div_by_one", x / 1, x, kExact},
        {"mul_by_minus_one", x * -1, -x, kExact, kReals},
        {"div_by_minus_one", x / -1, -x, kExact},
        {"div_of_same", x / x, Operand(1).expr(), kFinite, kFloats | kComplexes},
        {"add_of_same", x + x, 2 * x, kExact, kReals},
    };
  }();
  return rules;
}

}  // namespace thtrain
