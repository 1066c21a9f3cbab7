// Sums as a whole: (x + 1) + 2 -> x + 3, (x + y) + x -> 2 * x + y, (x + y) - x -> y.
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

bool is_zero(const Expr& number) {
  return constant_value(number)->as_double() == 0;
}
bool is_finite_number(const Expr& number) {
  return std::isfinite(constant_value(number)->as_double());
}

// Only the outermost sum is looked at as a whole: what its reader takes apart anyway has nothing to gain.
Expr collect_numbers(const Expr& value, RuleContext& context) {
  std::vector<Term> kept;
  Expr total;
  size_t count = 0;
  for (const Term& term : terms_of(value, &context)) {
    if (term.base.has_value()) {
      kept.push_back(term);
      continue;
    }
    ++count;
    Expr number = term.negative ? -term.number : term.number;
    total = folded(total.has_value() ? total + number : number);
  }
  if (count < 2 || kept.empty() || !is_finite_number(total)) return {};
  if (!is_zero(total)) kept.push_back({false, total, {}});
  return sum_of(kept, value.dtype());
}

// Terms of one base become one. With `cancel`, only where they add up to nothing; without, only where they do not.
Expr collect_terms(const Expr& value, RuleContext& context, bool cancel) {
  std::vector<Term> terms = terms_of(value, &context);
  auto number_of_term = [&](const Term& term) {
    Expr one = make_constant(Tensor(1.0).cast(value.dtype()));
    Expr number = term.number.has_value() ? term.number : one;
    return term.negative ? -number : number;
  };
  for (size_t i = 0; i < terms.size(); ++i)
    for (size_t k = i + 1; k < terms.size(); ++k) {
      Term &first = terms[i], &second = terms[k];
      if (!first.base.has_value() || !second.base.has_value() || !first.base.same(second.base)) continue;
      Expr total = folded(number_of_term(first) + number_of_term(second));
      if (is_zero(total) != cancel || !is_finite_number(total)) continue;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(k));
      if (cancel)
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
      else
        first = {false, total, first.base};
      return sum_of(terms, value.dtype());
    }
  return {};
}

std::vector<RuleExample> examples(std::vector<std::function<Expr(const std::vector<Expr>&)>> builders) {
  std::vector<RuleExample> out;
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kInt32, DType::kUInt8})
    for (const auto& build : builders) {
      Type type{.dtype = dtype, .dims = {4, 5}}, row{.dtype = dtype, .dims = {5}};
      out.push_back({{type, type, row}, build});
    }
  return out;
}

}  // namespace

const std::vector<Rule>& term_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<const Op*> roots{&add_op(), &sub_op(), &neg_op()};
  static const std::vector<Rule> rules{
      {.name = "collect_numbers",
       .safety = Safety::kReassociating,
       .kinds = kReals,
       .rewrite = collect_numbers,
       .roots = roots,
       .examples = examples({[](In in) { return in[0] + 1 + 2; }, [](In in) { return 1 - in[0] + 2; },
                             [](In in) { return 3 - (in[0] + 2); }, [](In in) { return (in[0] + 1) + (in[1] + 2); },
                             [](In in) { return (in[0] + 1) + (in[0] + in[2] - 3); }})},
      {.name = "collect_terms",
       .safety = Safety::kReassociating,
       .kinds = kReals,
       .rewrite = [](const Expr& value, RuleContext& context) { return collect_terms(value, context, false); },
       .roots = roots,
       .examples =
           examples({[](In in) { return (in[0] + in[1]) + in[0]; }, [](In in) { return 3 * in[0] + in[0]; },
                     [](In in) { return (in[0] - in[1]) - 2 * in[1]; }, [](In in) { return in[2] + in[0] + in[2]; }})},
      {.name = "cancel_terms",
       .safety = Safety::kFiniteMath,
       .kinds = kReals,
       .rewrite = [](const Expr& value, RuleContext& context) { return collect_terms(value, context, true); },
       .roots = roots,
       .examples = examples({[](In in) { return (in[0] + in[1]) - in[0]; },
                             [](In in) { return 2 * in[0] - (in[1] + 2 * in[0]); },
                             [](In in) { return (in[2] - in[0]) + in[0]; }})},
  };
  return rules;
}

}  // namespace thtrain
