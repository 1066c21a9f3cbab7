// Logarithms: forms for values, and forms for derivatives.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

constexpr double kLog2 = std::numbers::ln2;

bool is_1_and(const Expr& sum, const Op& op) {
  return (is_op(sum, add_op()) || is_op(sum, sub_op())) && number_of(input_of(sum, 0)) == 1.0 &&
         is_op(input_of(sum, 1), op);
}

// Has a rule the logarithm of this value, in a form that stays finite where the value underflows or overflows?
bool has_stable_logarithm(const Expr& e) {
  for (const Op* op : {&exp_op(), &sigmoid_op(), &softmax_op(), &cosh_op()})
    if (is_op(e, *op)) return true;
  if (is_op(e, sub_op()) && is_1_and(e, sqr_op())) return is_op(input_of(input_of(e, 1), 0), tanh_op());
  if (is_1_and(e, tanh_op()) || (is_op(e, sub_op()) && is_1_and(e, sigmoid_op()))) return true;
  if (is_op(e, prod_op())) return is_op(input_of(e, 0), exp_op());
  if (is_op(e, gather_op()) && is_by_row(e.node())) return is_op(input_of(e, 0), softmax_op());
  const Node* viewed = &e.node();
  while (viewed->op == &reshape_op() || viewed->op == &dimshuffle_op()) viewed = &viewed->inputs[0].node();
  if (viewed->op == &softmax_op()) return true;
  if (viewed->op == &sum_op()) return is_op(viewed->inputs[0], exp_op());
  return is_sum_of_exponentials(e);
}

bool is_never_negative(const Expr& e, int steps = 4) {
  if (const std::optional<double> number = number_of(e)) return *number >= 0;
  if (has_stable_logarithm(e)) return true;
  if (is_op(e, cast_op()) && is_op(input_of(e, 0), length_op())) return true;
  for (const Op* op : {&sqr_op(), &abs_op(), &sqrt_op(), &softplus_op(), &erfc_op()})
    if (is_op(e, *op)) return true;
  if (steps == 0) return false;
  for (const Op* op : {&add_op(), &mul_op(), &true_div_op(), &sum_op(), &prod_op(), &max_op(), &dimshuffle_op(),
                       &broadcast_to_op(), &reshape_op()})
    if (is_op(e, *op))
      return std::ranges::all_of(e.node().inputs, [&](const Expr& x) { return is_never_negative(x, steps - 1); });
  return false;
}

// log(c * x^2 * exp(y) / z) -> log(c) + 2 log|x| + y - log(z), where that gains range and no factor can be negative.
Expr log_of_product(const Expr& value, RuleContext&) {
  const Expr& argument = input_of(value, 0);
  if (argument.dtype() != value.dtype() || (!is_op(argument, mul_op()) && !is_op(argument, true_div_op()))) return {};
  Product product = factors_of(argument, nullptr);
  if (product.negative || product.factors.empty()) return {};
  bool gains = false;
  std::vector<Term> terms;
  for (const Factor& factor : product.factors) {
    const int power = factor.above - factor.below;
    if (power == 0 || factor.base.dtype() != value.dtype()) return {};
    const bool even = power % 2 == 0;
    if (!even && !is_never_negative(factor.base)) return {};
    gains = gains || even || has_stable_logarithm(factor.base) || is_op(factor.base, erfc_op());
    const Expr logarithm = log(even && !is_never_negative(factor.base) ? abs(factor.base) : factor.base);
    const int count = std::abs(power);
    Expr number = count == 1 ? Expr() : make_constant(Tensor(static_cast<double>(count)).cast(value.dtype()));
    terms.push_back({power < 0, number, logarithm});
  }
  if (!gains) return {};
  Expr total = make_constant(Tensor(1.0).cast(value.dtype()));
  for (const Expr& number : product.numbers_above) total = folded(total * number);
  for (const Expr& number : product.numbers_below) total = folded(total / number);
  const double number = constant_value(total)->as_double();
  if (!(number > 0) || !std::isfinite(number)) return {};
  if (number != 1) terms.push_back({false, folded(log(total)), {}});
  return sum_of(terms, value.dtype());
}

// log(switch(condition, p, 1 - p)) -> switch(condition, log(p), log(1 - p)), where one of the two has a stable form.
Expr log_of_switch(const Expr& value, RuleContext&) {
  const Expr& choice = input_of(value, 0);
  if (!is_op(choice, switch_op()) || choice.dtype() != value.dtype()) return {};
  const Expr &yes = input_of(choice, 1), &no = input_of(choice, 2);
  if (yes.dtype() != value.dtype() || no.dtype() != value.dtype()) return {};
  if (!has_stable_logarithm(yes) && !has_stable_logarithm(no)) return {};
  return switch_(input_of(choice, 0), log(yes), log(no));
}

// The logarithms of the two parts of exp(x) + exp(y) + ..., of three terms or more.
std::optional<std::pair<Expr, Expr>> logarithms_of_exponentials(const Expr& total, DType dtype) {
  if (total.dtype() != dtype || !is_sum_of_exponentials(total)) return std::nullopt;
  const Expr &a = input_of(total, 0), &b = input_of(total, 1);
  if (is_op(a, exp_op()) && is_op(b, exp_op())) return std::nullopt;
  auto logarithm = [](const Expr& e) { return is_op(e, exp_op()) ? input_of(e, 0) : log(e); };
  return std::pair(logarithm(a), logarithm(b));
}

// log(exp(x) + exp(y) + exp(z)) -> m + log1p(exp(-|log(exp(x) + exp(y)) - z|)), m the larger of the two.
Expr log_add_exps(const Expr& value, RuleContext&) {
  const auto parts = logarithms_of_exponentials(input_of(value, 0), value.dtype());
  if (!parts) return {};
  const auto& [a, b] = *parts;
  return maximum(a, b) + log1p(exp(-abs(a - b)));
}
Expr derivative_of_log_add_exps(const Expr& value, RuleContext&) {
  const auto parts = logarithms_of_exponentials(input_of(value, 0), value.dtype());
  return parts ? parts->first + softplus(parts->second - parts->first) : Expr();
}

// log(prod(exp(x))) -> sum(x), also where others read the exponentials.
Expr log_of_prod_of_exp(const Expr& value, RuleContext&) {
  const Expr& product = input_of(value, 0);
  if (!is_op(product, prod_op()) || product.dtype() != value.dtype()) return {};
  const Expr& e = input_of(product, 0);
  if (!is_op(e, exp_op()) || input_of(e, 0).dtype() != value.dtype()) return {};
  return apply(sum_op(), {input_of(e, 0)}, product.node().props);
}

// log(prod(x)) has the derivative of sum(log(x)).
Expr log_of_prod(const Expr& value, RuleContext&) {
  const Expr& product = input_of(value, 0);
  if (!is_op(product, prod_op()) || product.dtype() != value.dtype()) return {};
  return apply(sum_op(), {log(input_of(product, 0))}, product.node().props);
}

}  // namespace

const std::vector<Rule>& logarithm_part_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kRange = Safety::kRangeChanging;
  static const std::vector<Rule> rules{
      {.name = "log_of_product",
       .safety = kRange,
       .rewrite = log_of_product,
       .roots = {&log_op()},
       .examples = {{{f64({3, 4}), f64({4})}, [](In in) { return log(3 * sqr(in[0]) * exp(in[1])); }},
                    {{f32({7})}, [](In in) { return log((1 + tanh(in[0])) / (1 - tanh(in[0]))); }},
                    {{f64({7}), f64({7})}, [](In in) { return log(sigmoid(in[0]) / (abs(in[1]) + 2)); }}}},
      {.name = "log_of_switch",
       .safety = kRange,
       .rewrite = log_of_switch,
       .roots = {&log_op()},
       .examples = {{{f64({3, 4}), f64({3, 4})},
                     [](In in) {
                       const Expr p = sigmoid(in[0]);
                       return log(switch_(in[1] > 0, p, 1 - p));
                     }},
                    {{f32({7}), f32({7})}, [](In in) { return log(switch_(in[1] > 0, 2.0, exp(in[0]))); }}}},
      {.name = "log_of_prod_of_exp",
       .safety = kRange,
       .rewrite = log_of_prod_of_exp,
       .roots = {&log_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return log(prod(exp(in[0]), 1)); }},
                    {{f32({4})}, [](In in) { return log(prod(exp(in[0]))); }}}},
      {.name = "log_add_exps",
       .safety = kRange,
       .values_only = true,
       .rewrite = log_add_exps,
       .roots = {&log_op()},
       .examples = {{{f64({3, 4}), f64({4}), f64({3, 4})},
                     [](In in) { return log(exp(in[0]) + exp(in[1]) + exp(in[2])); }},
                    {{f32({7}), f32({7}), f32({7})},
                     [](In in) { return log((exp(in[0]) + exp(in[1])) + (exp(in[2]) + exp(-in[0]))); }}}},
  };
  return rules;
}

// Machler, "Accurately Computing log(1 - exp(-|a|))" (2012), eq. 7: up to log(2) by expm1, then by log1p. The argument
// of the function that is not taken is replaced, so that the rule does not see its own result.
const std::vector<Rule>& logarithm_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x"), y = any_value("y");
    constexpr Safety kRange = Safety::kRangeChanging;
    const Expr large = gt(x, 1.0), near = lt(abs(x), 1.0), low = lt(x, -0.5), high = gt(x, 0.5);
    const Expr log_1_plus_tanh = switch_(low, (kLog2 + 2 * x) - softplus(2 * x), log1p(switch_(low, 0.0, tanh(x))));
    const Expr log_1_minus_tanh =
        switch_(high, (kLog2 - 2 * x) - softplus(-2 * x), log1p(switch_(high, 0.0, -tanh(x))));
    // log(1 - e^d) for d < 0.
    auto log1mexp = [](const Expr& d) {
      const Expr near_0 = gt(d, -kLog2);
      return switch_(near_0, log(switch_(near_0, -expm1(d), 1.0)), log1p(switch_(near_0, 0.0, -exp(d))));
    };
    const Expr log_cosh = abs(x) + log1p(0.5 * expm1(-2 * abs(x)));
    std::vector<Rule> out{
        {"log_of_neg_expm1", log(-expm1(x)), log1mexp(x), kRange},
        {"log1p_of_neg_exp", log1p(-exp(x)), log1mexp(x), kRange},
        {"log_of_difference", log(exp(x) - exp(y)), x + log1mexp(y - x), kRange},
        {"log_of_expm1", log(expm1(x)),
         switch_(large, x + log1p(switch_(large, -exp(-x), 0.0)), log(switch_(large, 1.0, expm1(x)))), kRange},
        {"log_of_cosh", log(cosh(x)), log_cosh, kRange},
        {"log1p_of_tanh", log1p(tanh(x)), log_1_plus_tanh, kRange},
        {"log_1_minus_tanh", log(1 - tanh(x)), log_1_minus_tanh, kRange},
        {"log1p_of_neg_tanh", log1p(-tanh(x)), log_1_minus_tanh, kRange},
        {"log_1_minus_sqr_tanh", log(1 - sqr(tanh(x))), -2 * log_cosh, kRange},
        {"log1p_of_neg_sqr_tanh", log1p(-sqr(tanh(x))),
         switch_(near, log1p(switch_(near, -sqr(tanh(x)), 0.0)), -2 * log_cosh), kRange},
    };
    for (Rule& rule : out) rule.values_only = true;
    return out;
  }();
  return rules;
}

const std::vector<Rule>& slope_rules() {
  static const std::vector<Rule> rules = [] {
    const Expr x = any_value("x");
    constexpr Safety kRange = Safety::kRangeChanging;
    auto slope = [](const Expr& e) { return e / sqr(1 + e); };
    auto only_in_slope = [](const Binding& b, const RuleContext& context) {
      const Expr &first = input_of(b.root(), 0), &second = input_of(b.root(), 1);
      return context.has_at_most_uses(is_op(first, sigmoid_op()) ? first : second, 2) &&
             context.has_one_use(is_op(first, sigmoid_op()) ? second : first);
    };
    auto tanh_once = [](const Binding& b, const RuleContext& context) {
      const Expr& square = input_of(b.root(), 1);
      return context.has_one_use(square) && context.has_one_use(input_of(square, 0));
    };
    return std::vector<Rule>{
        // s (1 - s) and 1 - t^2 where nobody else reads s and t: one exponential as before, and no cancellation.
        {"sigmoid_slope", sigmoid(x) * (1 - sigmoid(x)), slope(exp(-abs(x))), kRange, kFloats, only_in_slope},
        {"tanh_slope", 1 - sqr(tanh(x)), 4 * slope(exp(-2 * abs(x))), kRange, kFloats, tanh_once},
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
        {"derivative_of_log_of_sqrt", log(sqrt(x)), 0.5 * log(x), kRange},
        {"derivative_of_log_of_pow", log(pow(x, c)), c * log(x), kRange},
        {.name = "derivative_of_log_of_prod",
         .safety = kRange,
         .rewrite = log_of_prod,
         .roots = {&log_op()},
         .examples = {{{{.dtype = DType::kFloat64, .dims = {3, 5}}}, [](In in) { return log(prod(in[0], 1)); }},
                      {{{.dtype = DType::kFloat32, .dims = {4}}}, [](In in) { return log(prod(exp(in[0]))); }}}},
        {"derivative_of_log_add_exp", log(exp(x) + exp(y)), x + softplus(y - x), kRange},
        {.name = "derivative_of_log_add_exps",
         .safety = kRange,
         .rewrite = derivative_of_log_add_exps,
         .roots = {&log_op()},
         .examples = {{{f64({7}), f64({7}), f64({7})},
                       [](In in) { return log(exp(in[0]) + exp(in[1]) + exp(in[2])); }}}},
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
