// Squares, roots, powers, and divisions by numbers.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

// 1 / c is a power of two too, and neither over- nor underflows.
bool has_exact_reciprocal(double c, DType dtype) {
  int exponent;
  const int range = dtype == DType::kFloat32 ? 120 : 1000;
  return std::abs(std::frexp(c, &exponent)) == 0.5 && std::abs(exponent) < range;
}

// pow(x, 0.5), which C's Annex F gives other values than sqrt(x): inf of -inf, and 0 of -0.
Expr root_as_power(const Expr& x) {
  return abs(sqrt(switch_(isinf(x), abs(x), x)));
}

// x^n with n from 3 on: by squares, from the highest bit of n down.
Expr integer_power(const Expr& x, int64_t n) {
  Expr out = x;
  for (int bit = 62 - __builtin_clzll(static_cast<uint64_t>(n)); bit >= 0; --bit) {
    out = sqr(out);
    if (n >> bit & 1) out = out * x;
  }
  return out;
}

// pow(x, 5) -> sqr(sqr(x)) * x, up to 16; of floats negative exponents too.
Expr power_by_squares(const Expr& value, RuleContext&) {
  constexpr double kHighest = 16;
  const Expr& x = input_of(value, 0);
  std::optional<double> n = number_of(input_of(value, 1));
  if (!n || x.dtype() != value.dtype() || *n != std::floor(*n) || std::abs(*n) < 3 || std::abs(*n) > kHighest)
    return {};
  if (*n < 0) return is_float(value.dtype()) ? 1 / integer_power(x, static_cast<int64_t>(-*n)) : Expr();
  return integer_power(x, static_cast<int64_t>(*n));
}

std::vector<RuleExample> power_examples() {
  std::vector<RuleExample> out;
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kInt32, DType::kUInt8})
    for (int n : {3, 4, 5, 7, 15, 16})
      out.push_back({{{.dtype = dtype, .dims = {9}}}, [n](const std::vector<Expr>& in) { return pow(in[0], n); }});
  for (int n : {-3, -4, -7})
    out.push_back(
        {{{.dtype = DType::kFloat64, .dims = {3, 5}}}, [n](const std::vector<Expr>& in) { return pow(in[0], n); }});
  return out;
}

}  // namespace

const std::vector<Rule>& power_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y"), c = any_number("c");
    constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating;
    auto exact_reciprocal = [c](const Binding& b, const RuleContext&) {
      return has_exact_reciprocal(b.number(c), b.root().dtype()) && b.number(c) != 1;
    };
    // One division for each element, not for each element of y: only then is it no more work.
    auto y_as_long = [y](const Binding& b, const RuleContext& context) {
      return b.value(y).dims() == b.root().dims() && operands_have_one_use(true_div_op())(b, context);
    };
    return std::vector<Rule>{
        {"mul_of_same", x * x, sqr(x), kExact, kNumbers},
        {"pow_0", pow(x, 0), Operand(1).expr(), kExact, kReals},
        {"pow_1", pow(x, 1), x, kExact, kReals},
        {"pow_2", pow(x, 2), sqr(x), kReassociating, kReals},
        {"pow_half", pow(x, 0.5), root_as_power(x), kReassociating},
        {"pow_minus_half", pow(x, -0.5), 1 / root_as_power(x), kReassociating},
        {"pow_minus_1", pow(x, -1), 1 / x, kReassociating},
        {"pow_minus_2", pow(x, -2), 1 / sqr(x), kReassociating},
        {.name = "pow_by_squares",
         .safety = kReassociating,
         .kinds = kReals,
         .rewrite = power_by_squares,
         .roots = {&pow_op()},
         .examples = power_examples()},
        {"reciprocal", reciprocal(x), 1 / x, kExact},
        {"div_by_power_of_two", x / c, x * (1 / c), kExact, kFloats, exact_reciprocal},
        {"div_by_reciprocal", x / (1 / y), x * y, kReassociating, kFloats, operands_have_one_use(true_div_op())},
        {"mul_by_reciprocal", x * (1 / y), x / y, kReassociating, kFloats, y_as_long},
        {"over_sqrt", x / sqrt(x), sqrt(x), Safety::kRangeChanging},
        {"sqrt_over", sqrt(x) / x, 1 / sqrt(x), Safety::kRangeChanging},
        {"sqrt_of_sqr", sqrt(sqr(x)), abs(x), Safety::kRangeChanging},
        {"over_abs", x / abs(x), sign(x), Safety::kRangeChanging},
        {"abs_over", abs(x) / x, sign(x), Safety::kRangeChanging},
    };
  }();
  return rules;
}

}  // namespace thtrain
