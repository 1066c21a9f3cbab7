// Products as a whole: numbers come together, and what is above and below the line cancels.
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

// Neither lost nor endless where it stands for two numbers that were neither.
bool is_safe_factor(const Expr& number) {
  double x = constant_value(number)->as_double();
  if (!is_float(number.dtype())) return true;
  return std::isfinite(x) && std::abs(x) >= (number.dtype() == DType::kFloat32 ? 1e-30 : 1e-290);
}

// (2 * x) / (4 * y) -> 0.5 * x / y
Expr collect_factors(const Expr& value, RuleContext& context) {
  Product product = factors_of(value, &context);
  if (product.numbers_above.size() + product.numbers_below.size() < 2 || product.factors.empty()) return {};
  Expr total = make_constant(Tensor(1.0).cast(value.dtype()));
  for (const Expr& number : product.numbers_above) total = folded(total * number);
  for (const Expr& number : product.numbers_below) total = folded(total / number);
  if (!is_safe_factor(total)) return {};
  product.numbers_above = {total};
  product.numbers_below = {};
  return product.value(value.dtype());
}

// What is above and below; where `covered`, only what does not take a value out of the expression altogether.
Expr cancel_factors(const Expr& value, RuleContext& context, bool covered) {
  Product product = factors_of(value, &context);
  bool found = false;
  for (Factor& factor : product.factors) {
    const int both = std::min(factor.above, factor.below);
    if (both == 0) continue;
    const Factor before = factor;
    factor.above -= both;
    factor.below -= both;
    std::vector<Expr> kept;
    for (const Factor& other : product.factors)
      if (other.above || other.below) kept.push_back(other.base);
    if (is_covered(factor.base, kept) == covered)
      found = true;
    else
      factor = before;
  }
  return found ? product.value(value.dtype()) : Expr();
}

std::vector<RuleExample> examples(std::vector<DType> dtypes,
                                  std::vector<std::function<Expr(const std::vector<Expr>&)>> builders) {
  std::vector<RuleExample> out;
  for (DType dtype : dtypes)
    for (const auto& build : builders) {
      Type type{.dtype = dtype, .dims = {3, 4}}, row{.dtype = dtype, .dims = {4}};
      out.push_back({{type, type, row}, build});
    }
  return out;
}

}  // namespace

const std::vector<Rule>& factor_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<DType> floats{DType::kFloat64, DType::kFloat32};
  static const std::vector<Rule> rules = [] {
    std::vector<RuleExample> numbers = examples(
        floats, {[](In in) { return (2 * in[0]) / (4 * in[1]); }, [](In in) { return in[0] / 3 * 5; },
                 [](In in) { return -(3 * in[0]) * (in[1] * in[2] * 7); }, [](In in) { return 2 / (in[0] / 3); }});
    for (const RuleExample& example :
         examples({DType::kInt32, DType::kUInt8, DType::kInt64},
                  {[](In in) { return 3 * in[0] * 5; }, [](In in) { return (in[0] * 7) * (in[1] * 11) * in[2]; }}))
      numbers.push_back(example);
    return std::vector<Rule>{
        {.name = "collect_factors",
         .safety = Safety::kReassociating,
         .kinds = kReals,
         .rewrite = collect_factors,
         .roots = {&mul_op(), &true_div_op()},
         .examples = std::move(numbers)},
        {.name = "cancel_kept_factors",
         .safety = Safety::kRangeChanging,
         .rewrite = [](const Expr& value, RuleContext& context) { return cancel_factors(value, context, true); },
         .roots = {&mul_op(), &true_div_op()},
         .examples =
             examples(floats, {[](In in) { return sqr(in[0]) / in[0]; }, [](In in) { return in[0] / sqr(in[0]); },
                               [](In in) { return (in[1] / in[0]) * in[0] * sigmoid(in[0]); },
                               [](In in) { return in[1] * (1 - in[0]) / (1 - in[0]) * in[0]; }})},
        {.name = "cancel_factors",
         .safety = Safety::kFiniteMath,
         .rewrite = [](const Expr& value, RuleContext& context) { return cancel_factors(value, context, false); },
         .roots = {&mul_op(), &true_div_op()},
         .examples = examples(floats, {[](In in) { return in[0] * in[1] / in[0]; },
                                       [](In in) { return (in[0] / in[1]) * (in[1] / in[2]); },
                                       [](In in) { return in[0] / in[2] * in[2]; }})},
    };
  }();
  return rules;
}

}  // namespace thtrain
