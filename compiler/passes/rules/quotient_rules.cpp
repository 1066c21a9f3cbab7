// Gradients of logarithms of probabilities: products of quotients whose denominators may round to zero.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

// sigmoid(x) * exp(-x) -> sigmoid(-x), or 1 - sigmoid(x) where sigmoid(x) is read elsewhere too: then that costs no
// second exponential, and is what a logarithm of it was divided by.
Expr without_exponential(Product product, DType dtype, RuleContext& context) {
  for (Factor& s : product.factors) {
    if (!is_op(s.base, sigmoid_op()) || s.above == 0) continue;
    const Expr& x = input_of(s.base, 0);
    for (Factor& e : product.factors) {
      if (!is_op(e.base, exp_op()) || e.above == 0) continue;
      const Expr sigmoid_x = s.base, minus_x = input_of(e.base, 0);
      if (!context.normalize(-x).same(minus_x) && !context.normalize(-minus_x).same(x)) continue;
      --s.above;
      --e.above;
      const bool read_elsewhere = s.above > 0 || !context.has_one_use(sigmoid_x);
      product.multiply(context.normalize(read_elsewhere ? 1 - sigmoid_x : sigmoid(minus_x)), 1, 0);
      return product.value(dtype);
    }
  }
  return {};
}

Expr sigmoid_times_exp(const Expr& value, RuleContext& context) {
  const Product own = factors_of(value, &context);
  if (Expr out = without_exponential(own, value.dtype(), context); out.has_value()) return out;
  // An exponential saved is worth some products that are made a second time.
  const bool has_one_of_them = std::any_of(own.factors.begin(), own.factors.end(), [](const Factor& factor) {
    return is_op(factor.base, sigmoid_op()) || is_op(factor.base, exp_op());
  });
  return has_one_of_them ? without_exponential(factors_of(value, nullptr), value.dtype(), context) : Expr();
}

// Where erfc(x) = exp(-x^2) * tail(x) is nearly too small, the tail is not. To a rounding error beyond where tails
// begin: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 7.1.23.
Expr beginning_of_tail(const Expr& x) {
  return make_constant(Tensor(x.dtype() == DType::kFloat32 ? 9.0 : 25.0).cast(x.dtype()));
}
Expr is_in_tail(const Expr& x) {
  return gt(x, beginning_of_tail(x));
}
// Of what is not in the tail, the value at its beginning: nobody takes it, but a derivative multiplies it by zero, and
// 1 / x is infinite at 0.
Expr tail_of_erfc(const Expr& value) {
  const Expr x = maximum(value, beginning_of_tail(value)), t = 0.5 / sqr(x);
  return (1 - t * (1 - t * (3 - t * (15 - t * (105 - t * (945 - 10395 * t)))))) / (x * 1.7724538509055160273);
}

// log(erfc(x)) -> log(tail(x)) - x^2 in the tail
Expr log_of_erfc(const Expr& value, RuleContext& context) {
  const Expr& y = input_of(value, 0);
  if (!is_op(y, erfc_op()) || input_of(y, 0).dtype() != value.dtype() || !context.has_one_use(value)) return {};
  const Expr& x = input_of(y, 0);
  // log(1) = 0 in the branch that is not taken: so that the rule does not see its own result.
  return switch_(is_in_tail(x), log(tail_of_erfc(x)) - sqr(x), log(switch_(is_in_tail(x), 1.0, y)));
}

// A rule of products, of what only this value reads, and where that has nothing for it, of all of it: the quotients of
// a first derivative are read by the second one too, and are no less 0/0 for that.
template <class F>
Expr read_once_or_not(const Expr& value, RuleContext& context, F rule) {
  const Expr out = rule(factors_of(value, &context));
  return out.has_value() ? out : rule(factors_of(value, nullptr));
}

// exp(-x^2) / erfc(x) -> 1 / tail(x) in the tail: the gradient of log(erfc(x)), of which both parts vanish there.
Expr gradient_of_log_erfc(const Expr& value, RuleContext& context) {
  return read_once_or_not(value, context, [&](Product product) -> Expr {
    for (Factor& e : product.factors) {
      if (!is_op(e.base, exp_op()) || e.above == 0) continue;
      for (Factor& y : product.factors) {
        if (!is_op(y.base, erfc_op()) || y.below == 0) continue;
        const Expr x = input_of(y.base, 0), plain = e.base / switch_(is_in_tail(x), 1.0, y.base);
        if (!context.normalize(-sqr(x)).same(input_of(e.base, 0))) continue;
        --e.above;
        --y.below;
        product.multiply(switch_(is_in_tail(x), 1 / tail_of_erfc(x), plain), 1, 0);
        return product.value(value.dtype());
      }
    }
    return {};
  });
}

// The factors of `a` that `b` has not; nothing where b has others than a.
std::optional<Product> quotient_of(const Product& a, const Product& b) {
  if (!a.numbers_above.empty() || !a.numbers_below.empty() || !b.numbers_above.empty() || !b.numbers_below.empty())
    return std::nullopt;
  Product out;
  out.negative = a.negative != b.negative;
  for (const Factor& factor : a.factors) out.multiply(factor.base, factor.above, factor.below);
  for (const Factor& factor : b.factors) {
    Factor* common = out.find(factor.base);
    if (!common || common->above < factor.above || common->below < factor.below) return std::nullopt;
    common->above -= factor.above;
    common->below -= factor.below;
  }
  return out;
}

// x - x * y -> x * (1 - y): the gradient of e / (1 + e) is d - d * p with d = dp / (1 + e), and only as a product it is
// seen that it has the factors that dp is divided by.
Expr factor_out(const Expr& value, RuleContext& context) {
  const Expr &a = input_of(value, 0), &b = input_of(value, 1);
  for (bool first : {true, false}) {
    const Expr &x = first ? a : b, &x_y = first ? b : a;
    if (!is_op(x_y, mul_op()) && !is_op(x_y, sqr_op()) && !is_op(x_y, true_div_op()) && !is_op(x_y, neg_op())) continue;
    if (!(x.type() == value.type()) || !(x_y.type() == value.type()) || !context.has_one_use(x_y)) continue;
    if (number_in(x)) continue;
    const std::optional<Product> y = quotient_of(factors_of(x_y, &context), factors_of(x, &context));
    if (!y || y->negative) continue;
    Expr product = x * (1 - y->value(value.dtype()));
    return first ? product : -product;
  }
  return {};
}

// Is there a quotient among the factors of one of the terms?
bool has_quotient(const Expr& e, int steps) {
  if (is_op(e, true_div_op())) return true;
  const bool arithmetic = is_op(e, add_op()) || is_op(e, sub_op()) || is_op(e, mul_op()) || is_op(e, neg_op());
  if (steps == 0 || !arithmetic) return false;
  const std::vector<Expr>& inputs = e.node().inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](const Expr& input) { return has_quotient(input, steps - 1); });
}

// (a / x - b / y) * x * y -> a * y - b * x: where x rounds to 0, the quotient is no number and the product is. Only
// where every denominator of the sum is cancelled, where no value leaves the expression altogether, and where it is no
// more work.
Expr distribute_quotients(const Expr& value, RuleContext& context) {
  const Product outer = factors_of(value, &context);
  for (size_t f = 0; f < outer.factors.size(); ++f) {
    const Expr sum = outer.factors[f].base;
    if (outer.factors[f].above != 1 || outer.factors[f].below != 0 || !context.has_one_use(sum)) continue;
    if ((!is_op(sum, add_op()) && !is_op(sum, sub_op())) || !has_quotient(sum, 6)) continue;
    const std::vector<Term> terms = terms_of(sum, &context);
    if (terms.size() > 4) continue;

    Product rest = outer;
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(f));
    size_t before = outer.operations() + terms.size() - 1, after = terms.size() - 1;
    std::vector<Expr> cancelled, kept;
    bool all_cancelled = true;
    std::vector<Term> out;
    for (const Term& term : terms) {
      Product product = factors_of(value_of(term), &context);
      before += product.operations();
      product.multiply(rest);
      for (Factor& factor : product.factors) {
        const int both = std::min(factor.above, factor.below);
        if (both == 0) continue;
        cancelled.push_back(factor.base);
        factor.above -= both;
        factor.below -= both;
      }
      for (const Factor& factor : product.factors) {
        if (factor.above || factor.below) kept.push_back(factor.base);
        const Factor* outside = rest.find(factor.base);
        all_cancelled = all_cancelled && factor.below <= (outside ? outside->below : 0);
      }
      after += product.operations();
      out.push_back({term.negative, {}, product.value(value.dtype())});
    }
    if (cancelled.empty() || !all_cancelled || after > before) continue;
    if (!std::all_of(cancelled.begin(), cancelled.end(), [&](const Expr& e) { return is_covered(e, kept); })) continue;
    return sum_of(out, value.dtype());
  }
  return {};
}

// Functions of one argument whose quotient is another function of it.
struct Quotient {
  Expr above, below, whole, argument;
};
const std::vector<Quotient>& quotients() {
  static const std::vector<Quotient> table = [] {
    const Expr x = any_value("x");
    const Expr s = sigmoid(x), rest = 1 - sigmoid(x);
    return std::vector<Quotient>{{sinh(x), cosh(x), tanh(x), x},
                                 {s, rest, exp(x), x},
                                 {rest, s, exp(-x), x},
                                 {s, sigmoid(-x), exp(x), x},
                                 {sign(x), abs(x), 1 / x, x}};
  }();
  return table;
}
// The derivative of expm1(x) is expm1(x) + 1.
const std::vector<Quotient>& quotients_by_expm1() {
  static const std::vector<Quotient> table = [] {
    const Expr x = any_value("x"), whole = -1 / expm1(-x);
    return std::vector<Quotient>{{exp(x), expm1(x), whole, x}, {1 + expm1(x), expm1(x), whole, x}};
  }();
  return table;
}

// y * sinh(x) / cosh(x) -> y * tanh(x), and so on, wherever the two are in a product.
RuleFunction quotient_in(const std::vector<Quotient>& table) {
  return [&table](const Expr& value, RuleContext& context) {
    return read_once_or_not(value, context, [&](Product product) -> Expr {
      for (Factor& a : product.factors)
        for (Factor& b : product.factors) {
          if (a.above == 0 || b.below == 0) continue;
          for (const Quotient& quotient : table) {
            const std::optional<Binding> above = match(quotient.above, a.base), below = match(quotient.below, b.base);
            if (!above || !below || !above->value(quotient.argument).same(below->value(quotient.argument))) continue;
            --a.above;
            --b.below;
            product.multiply(context.normalize(broadcast_to_type(instantiate(quotient.whole, *above), a.base.type())),
                             1, 0);
            return product.value(value.dtype());
          }
        }
      return {};
    });
  };
}

// Where the tail begins and erfc is not too small yet: both forms are right.
Expr near_tail(const Expr& x) {
  return x.dtype() == DType::kFloat32 ? 9.1 + 0.08 * tanh(x) : 25.7 + 0.6 * tanh(x);
}

}  // namespace

const std::vector<Rule>& quotient_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules{
      {.name = "log_of_erfc",
       .safety = Safety::kRangeChanging,
       .values_only = true,
       .rewrite = log_of_erfc,
       .roots = {&log_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return log(erfc(in[0])); }},
                    {{f32({7})}, [](In in) { return log(erfc(30 * in[0])); }},
                    {{f64({20})}, [](In in) { return log(erfc(near_tail(in[0]))); }}}},
      {.name = "gradient_of_log_erfc",
       .safety = Safety::kRangeChanging,
       .rewrite = gradient_of_log_erfc,
       .roots = {&mul_op(), &true_div_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return exp(-sqr(in[0])) / erfc(in[0]); }},
                    {{f32({7}), f32({7})}, [](In in) { return in[1] / erfc(in[0]) * exp(-sqr(in[0])); }},
                    {{f64({20})}, [](In in) { return exp(-sqr(near_tail(in[0]))) / erfc(near_tail(in[0])); }},
                    {{f32({20})}, [](In in) { return exp(-sqr(near_tail(in[0]))) / erfc(near_tail(in[0])); }}}},
      {.name = "quotient_of_functions",
       .safety = Safety::kRangeChanging,
       .rewrite = quotient_in(quotients()),
       .roots = {&mul_op(), &true_div_op()},
       .examples = {{{f64({3, 4}), f64({4})}, [](In in) { return in[1] / cosh(in[0]) * sinh(in[0]); }},
                    {{f32({7})}, [](In in) { return sigmoid(in[0]) / (1 - sigmoid(in[0])); }},
                    {{f64({7})}, [](In in) { return (1 - sigmoid(in[0])) / sigmoid(in[0]); }},
                    {{f64({7})}, [](In in) { return sigmoid(in[0]) / sigmoid(-in[0]); }},
                    {{f32({7})}, [](In in) { return 2 * sign(in[0]) / abs(in[0]); }}}},
      // Another form for each sign of x: its derivative overflows where that of exp(x) / expm1(x) does not.
      {.name = "quotient_by_expm1",
       .safety = Safety::kRangeChanging,
       .values_only = true,
       .rewrite = quotient_in(quotients_by_expm1()),
       .roots = {&mul_op(), &true_div_op()},
       .examples = {{{f64({7}), f64({7})}, [](In in) { return in[1] * exp(in[0]) / expm1(in[0]); }},
                    {{f32({7}), f32({7})}, [](In in) { return in[1] * (expm1(in[0]) + 1) / expm1(in[0]); }},
                    {{f64({3, 4})}, [](In in) { return (1 / expm1(in[0])) * (1 / expm1(in[0])) * exp(in[0]); }}}},
      {.name = "factor_out",
       .safety = Safety::kReassociating,
       .rewrite = factor_out,
       .roots = {&sub_op()},
       .examples = {{{f64({3, 4}), f64({4})}, [](In in) { return in[0] - in[0] * in[1]; }},
                    {{f32({7}), f32({7})}, [](In in) { return in[0] * in[1] - in[1]; }},
                    {{f64({7}), f64({7})}, [](In in) { return in[0] * in[1] - in[1] * sqr(in[0]); }}}},
      {.name = "sigmoid_times_exp",
       .safety = Safety::kRangeChanging,
       .rewrite = sigmoid_times_exp,
       .roots = {&mul_op(), &true_div_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return sigmoid(in[0]) * exp(-in[0]); }},
                    {{f32({4}), f32({3, 4})}, [](In in) { return in[1] * exp(in[0]) * sigmoid(-in[0]) * in[1]; }},
                    {{f64({7}), f64({7})}, [](In in) { return -(sqr(sigmoid(in[0])) * in[1] * exp(-in[0])); }}}},
      {.name = "distribute_quotients",
       .safety = Safety::kRangeChanging,
       .rewrite = distribute_quotients,
       .roots = {&mul_op(), &true_div_op()},
       .examples = {{{f64({3, 4}), f64({3, 4}), f64({3, 4}), f64({3, 4})},
                     [](In in) { return (in[2] / in[0] - in[3] / in[1]) * in[0] * in[1]; }},
                    {{f64({7}), f64({7})},
                     [](In in) {
                       Expr p = sigmoid(in[0]);
                       return (in[1] / p - (1 - in[1]) / (1 - p)) * (p * (1 - p));
                     }},
                    {{f32({7}), f32({7}), f32({})},
                     [](In in) { return -(in[2] * (in[1] / in[0] + sqr(in[1])) * in[0]); }}}},
  };
  return rules;
}

}  // namespace thtrain
