// Gradients of logarithms of probabilities: products of quotients whose denominators may round to zero.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

// sigmoid(x) * exp(-x) -> sigmoid(-x), or 1 - sigmoid(x) where sigmoid(x) is read elsewhere too: then that costs no
// second exponential, and is what a logarithm of it was divided by.
Expr sigmoid_times_exp(const Expr& value, RuleContext& context) {
  std::optional<Product> product = factors_of(value, context);
  if (!product) return {};
  for (Factor& s : product->factors) {
    if (!is_op(s.base, sigmoid_op()) || s.above == 0) continue;
    const Expr& x = input_of(s.base, 0);
    for (Factor& e : product->factors) {
      if (!is_op(e.base, exp_op()) || e.above == 0) continue;
      const Expr sigmoid_x = s.base, minus_x = input_of(e.base, 0);
      if (!context.settle(-x).same(minus_x) && !context.settle(-minus_x).same(x)) continue;
      --s.above;
      --e.above;
      const bool read_elsewhere = s.above > 0 || !context.read_once(sigmoid_x);
      product->multiply(context.settle(read_elsewhere ? 1 - sigmoid_x : sigmoid(minus_x)), 1, 0);
      return product->value(value.dtype());
    }
  }
  return {};
}

// (a / x - b / y) * x * y -> a * y - b * x: where x rounds to 0, the quotient is no number and the product is. Only
// where every denominator that is not cancelled was there before, where no value leaves the expression altogether, and
// where it is no more work.
Expr distribute_quotients(const Expr& value, RuleContext& context) {
  std::optional<Product> outer = factors_of(value, context);
  if (!outer) return {};
  for (size_t f = 0; f < outer->factors.size(); ++f) {
    const Expr sum = outer->factors[f].base;
    if (outer->factors[f].above != 1 || outer->factors[f].below != 0 || !context.read_once(sum)) continue;
    if (!is_op(sum, add_op()) && !is_op(sum, sub_op())) continue;
    std::optional<std::vector<Term>> terms = terms_of(sum, &context);
    if (!terms || terms->size() > 4) continue;

    Product rest = *outer;
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(f));
    size_t before = outer->operations() + terms->size() - 1, after = terms->size() - 1;
    std::vector<Expr> cancelled, kept;
    std::vector<Term> out;
    for (const Term& term : *terms) {
      std::optional<Product> product = factors_of(value_of(term), context);
      if (!product) return {};
      before += product->operations();
      product->multiply(rest);
      for (Factor& factor : product->factors) {
        const int both = std::min(factor.above, factor.below);
        if (both == 0) continue;
        cancelled.push_back(factor.base);
        factor.above -= both;
        factor.below -= both;
      }
      for (const Factor& factor : product->factors)
        if (factor.above || factor.below) kept.push_back(factor.base);
      after += product->operations();
      out.push_back({term.negative, {}, product->value(value.dtype())});
    }
    if (cancelled.empty() || after > before) continue;
    if (!std::all_of(cancelled.begin(), cancelled.end(), [&](const Expr& e) { return is_covered(e, kept); })) continue;
    return sum_of(out, value.dtype());
  }
  return {};
}

Type f64(Dims dims) {
  return {.dtype = DType::kFloat64, .dims = std::move(dims)};
}
Type f32(Dims dims) {
  return {.dtype = DType::kFloat32, .dims = std::move(dims)};
}

}  // namespace

const std::vector<Rule>& quotient_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules{
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
