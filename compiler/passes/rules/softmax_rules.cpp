// Logarithms of softmax, and gradients through softmax of quotients by its own values.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/factors.h"

namespace thtrain {
namespace {

bool is_softmax(const Expr& e) {
  return is_op(e, softmax_op());
}
size_t softmax_axis_of(const Expr& value) {
  return static_cast<size_t>(value.node().props.get<int64_t>("axis"));
}
int64_t axis_of(const Expr& softmax) {
  return softmax.node().props.get<int64_t>("axis");
}
Expr logarithm_of(const Expr& p) {
  return log_softmax(input_of(p, 0), axis_of(p));
}

// log(softmax(x)) -> log_softmax(x)
Expr log_of_softmax(const Expr& value, RuleContext&) {
  const Expr& p = input_of(value, 0);
  return is_softmax(p) ? logarithm_of(p) : Expr();
}

// Ops that read elements of their first input: the logarithm of what they read is what they read of the logarithm.
bool selects(const Expr& e) {
  return is_op(e, gather_op()) || is_op(e, subtensor_op()) || is_op(e, reshape_op()) || is_op(e, dimshuffle_op());
}

// The logarithm of what a chain of them read of a softmax; empty for other values.
Expr logarithm_of_selected(const Expr& selected) {
  if (is_softmax(selected)) return logarithm_of(selected);
  const Expr logarithm = selects(selected) ? logarithm_of_selected(input_of(selected, 0)) : Expr();
  if (!logarithm.has_value()) return {};
  std::vector<Expr> inputs = selected.node().inputs;
  inputs[0] = logarithm;
  return Expr(make_node(*selected.node().op, std::move(inputs), selected.node().props));
}

// log(pick_rows(softmax(x), labels)) -> pick_rows(log_softmax(x), labels)
Expr log_of_selected_softmax(const Expr& value, RuleContext&) {
  const Expr& selected = input_of(value, 0);
  return selects(selected) ? logarithm_of_selected(selected) : Expr();
}

// Does a view leave the elements in their order?
bool is_view_in_order(const Expr& view) {
  if (is_op(view, reshape_op())) return true;
  if (!is_op(view, dimshuffle_op())) return false;
  int64_t before = -1;
  for (int64_t axis : view.node().props.get<Ints>("order")) {
    if (axis >= 0 && axis < before) return false;
    before = std::max(before, axis);
  }
  return true;
}

// The axes where `total` is sum(e, axes) with those axes kept or put back, or its logarithm; none where it is not.
// Axes on the left that broadcasting puts back need not be there.
Ints axes_of_total(Expr total, const Expr& e, bool logarithm) {
  if (total.rank() > e.rank()) return {};
  Dims kept = e.dims(), dims(e.rank() - total.rank(), Dim(1));
  dims.insert(dims.end(), total.dims().begin(), total.dims().end());
  while (!is_op(total, sum_op())) {
    if (logarithm && is_op(total, log_op()))
      logarithm = false;
    else if (!is_view_in_order(total))
      return {};
    total = input_of(total, 0);
  }
  if (logarithm || !input_of(total, 0).same(e)) return {};
  const Ints& axes = total.node().props.get<Ints>("axes");
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  return dims == kept ? axes : Ints();
}

// softmax or log_softmax of x over some of its axes: over several, as over the one that they are joined to.
Expr over_axes(const Op& op, const Expr& x, const Ints& axes) {
  if (axes.size() == 1) return apply(op, {x}, {{"axis", axes[0]}});
  const size_t first = static_cast<size_t>(axes[0]), last = static_cast<size_t>(axes.back());
  if (last - first + 1 == axes.size()) {
    const auto begin = x.dims().begin() + axes[0], end = x.dims().begin() + axes.back() + 1;
    Dims joined(x.dims().begin(), begin);
    joined.push_back(product(Dims(begin, end)));
    joined.insert(joined.end(), end, x.dims().end());
    return reshape(apply(op, {reshape(x, joined)}, {{"axis", axes[0]}}), x.dims());
  }
  Ints order, back(x.rank()), last_axes;  // the others, then these
  for (size_t axis = 0; axis < x.rank(); ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) == axes.end())
      order.push_back(static_cast<int64_t>(axis));
  for (int64_t axis : axes) {
    last_axes.push_back(static_cast<int64_t>(order.size()));
    order.push_back(axis);
  }
  for (size_t k = 0; k < order.size(); ++k) back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  return dimshuffle(over_axes(op, dimshuffle(x, order), last_axes), back);
}

// exp(x) / sum(exp(x), axes, keepdims) -> softmax(x, axes)
Expr softmax_quotient(const Expr& value, RuleContext&) {
  const Expr &e = input_of(value, 0), &total = input_of(value, 1);
  if (!is_op(e, exp_op()) || !(e.type() == value.type())) return {};
  const Ints axes = axes_of_total(total, e, false);
  return axes.empty() ? Expr() : over_axes(softmax_op(), input_of(e, 0), axes);
}

// sum(exp(x) * y, axes) / sum(exp(x), axes) -> sum(softmax(x, axes) * y, axes), as factors of a product.
Expr mean_by_exponentials(const Expr& value, RuleContext& context) {
  Product product = factors_of(value, &context);
  for (Factor& mean : product.factors) {
    if (mean.above == 0 || !is_op(mean.base, sum_op()) || mean.base.dtype() != value.dtype()) continue;
    const Expr& weighted = input_of(mean.base, 0);
    for (Factor& total : product.factors) {
      if (total.below == 0 || !is_op(total.base, sum_op()) || !(total.base.type() == mean.base.type())) continue;
      const Expr& e = input_of(total.base, 0);
      if (!is_op(e, exp_op()) || !(e.type() == weighted.type()) || !(input_of(e, 0).type() == e.type())) continue;
      const Ints& axes = mean.base.node().props.get<Ints>("axes");
      Product weights = factors_of(weighted, nullptr);
      Factor* weight = weights.find(e);
      if (axes.empty() || axes != total.base.node().props.get<Ints>("axes") || !weight || weight->above == 0) continue;
      --weight->above;
      weights.multiply(over_axes(softmax_op(), input_of(e, 0), axes), 1, 0);
      const Expr own = weights.value(weighted.dtype());
      if (!(own.type() == weighted.type())) continue;
      --mean.above;
      --total.below;
      product.multiply(apply(sum_op(), {own}, mean.base.node().props), 1, 0);
      return product.value(value.dtype());
    }
  }
  return {};
}

// (a / sum(exp(x), axes, keepdims)) * exp(x) -> a * softmax(x, axes): the gradient of a logarithm of the sum.
Expr softmax_quotient_times(const Expr& value, RuleContext&) {
  for (size_t i : {0, 1}) {
    const Expr& e = input_of(value, i);
    Expr quotient = input_of(value, 1 - i);
    if (!is_op(e, exp_op()) || !(e.type() == value.type())) continue;
    std::vector<const Node*> views;  // of the quotient, the last first
    while (is_view_in_order(quotient)) {
      views.push_back(&quotient.node());
      quotient = input_of(quotient, 0);
    }
    if (!is_op(quotient, true_div_op()) || quotient.dtype() != value.dtype()) continue;
    const Expr &a = input_of(quotient, 0), &total = input_of(quotient, 1);
    if (total.dims() != quotient.dims() || (a.rank() != 0 && a.dims() != quotient.dims())) continue;
    auto viewed = [&](Expr x) {
      for (size_t k = views.size(); k-- > 0;) x = Expr(make_node(*views[k]->op, {x}, views[k]->props));
      return x;
    };
    const Ints axes = axes_of_total(viewed(total), e, false);
    if (axes.empty()) continue;
    return (a.rank() == 0 && quotient.rank() != 0 ? a : viewed(a)) * over_axes(softmax_op(), input_of(e, 0), axes);
  }
  return {};
}

// The value of exp(x) that a logarithm of its sum was made of; empty where there is none.
Expr exponential_under(Expr e) {
  while (is_op(e, log_op()) || is_op(e, sum_op()) || is_view_in_order(e)) e = input_of(e, 0);
  return is_op(e, exp_op()) ? e : Expr();
}

// softmax(x - max(x)) -> softmax(x), and its logarithm: what is taken off x alike along the axis changes nothing. Only
// the maximum of x itself, which x keeps every NaN of.
Expr softmax_of_shifted(const Expr& value, RuleContext&) {
  const Expr& shifted = input_of(value, 0);
  if (!is_op(shifted, sub_op())) return {};
  const Expr &x = input_of(shifted, 0), &shift = input_of(shifted, 1);
  if (!(x.type() == value.type()) || shift.rank() != x.rank() || !shift.dims()[softmax_axis_of(value)].is(1)) return {};
  Expr largest = shift;
  while (is_view_in_order(largest)) largest = input_of(largest, 0);
  if (is_op(largest, switch_op())) largest = input_of(largest, 2);
  while (is_view_in_order(largest)) largest = input_of(largest, 0);
  if (!is_op(largest, max_op()) || !input_of(largest, 0).same(x)) return {};
  return apply(*value.node().op, {x}, value.node().props);
}

// x - log(sum(exp(x), axes, keepdims)) -> log_softmax(x, axes)
Expr log_softmax_difference(const Expr& value, RuleContext&) {
  const Expr &x = input_of(value, 0), &logarithm = input_of(value, 1);
  const Expr e = exponential_under(logarithm);
  if (!e.has_value() || !input_of(e, 0).same(x) || !(x.type() == value.type()) || !(e.type() == x.type())) return {};
  const Ints axes = axes_of_total(logarithm, e, true);
  return axes.empty() ? Expr() : over_axes(log_softmax_op(), x, axes);
}

// exp(log_softmax(x)) -> softmax(x), unless the logarithm is wanted too: then its exponential is cheaper.
Expr exp_of_log_softmax(const Expr& value, RuleContext& context) {
  const Expr& y = input_of(value, 0);
  return is_op(y, log_softmax_op()) && context.has_one_use(y) ? softmax(input_of(y, 0), axis_of(y)) : Expr();
}

// ---- gradients -----------------------------------------------------------------------------------------------------

// What scatter_add_rows(0, labels, y / pick_rows(p, labels)) * p is, in y: the quotient is gone. Empty for other
// values.
Expr times_gathered_source(const Expr& increment, const Expr& p, RuleContext& context) {
  const Node& node = increment.node();
  const Op* reader = node.op == &scatter_op()         ? &gather_op()
                     : node.op == &inc_subtensor_op() ? &subtensor_op()
                                                      : nullptr;
  if (!reader || number_of(node.inputs[0]) != 0.0 || node.props.get<bool>("set")) return {};

  std::vector<Expr> inputs = node.inputs;
  inputs.erase(inputs.begin() + kScattered);
  inputs[0] = p;
  Props props;
  for (const auto& [name, property] : node.props.all())
    if (name != "set") props.set(name, property);
  const Expr read = context.normalize(Expr(make_node(*reader, std::move(inputs), std::move(props))));

  Product y = factors_of(node.inputs[kScattered], &context);
  Factor* factor = y.find(read);
  if (!factor || factor->below == 0) return {};
  --factor->below;
  inputs = node.inputs;
  Expr times = y.value(increment.dtype());
  const Dims& dims = node.inputs[kScattered].dims();
  inputs[kScattered] = times.dims() == dims ? times : broadcast_to(times, dims);
  return Expr(make_node(*node.op, std::move(inputs), node.props));
}

// term * p where one p cancels; empty where none does.
Expr times_without_quotient(const Expr& term, const Expr& p, RuleContext& context) {
  Product product = factors_of(term, &context);
  if (Factor* factor = product.find(p); factor && factor->below > 0) {
    --factor->below;
    return product.value(term.dtype());
  }
  for (Factor& factor : product.factors) {
    if (factor.above != 1) continue;
    Expr increment = times_gathered_source(factor.base, p, context);
    if (!increment.has_value()) continue;
    factor.base = increment;
    return product.value(term.dtype());
  }
  return {};
}

// p * (t - sum(t * p)) is the gradient through p = softmax(z). Where t = a / p, as after a logarithm, it is
// a - p * sum(a), and where a class has p = 0, the quotient is an infinity or no number: so it is taken out. That p
// leaves t * p loses nothing, because the result is still computed with p.
Expr softmax_gradient(const Expr& value, RuleContext& context) {
  for (size_t i : {0, 1}) {
    const Expr &p = input_of(value, i), &difference = input_of(value, 1 - i);
    if (!is_softmax(p) || !(difference.type() == p.type())) continue;
    const std::vector<Term> terms = terms_of(difference, &context);
    for (size_t k = 0; terms.size() > 1 && k < terms.size(); ++k) {
      // Is this the sum, with the sign that it has there?
      std::vector<Term> others = terms;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      Term total = terms[k];
      total.negative = !total.negative;
      if (!total.base.has_value() || total.base.dims() == p.dims()) continue;
      const Expr t = context.normalize(sum_of(others, p.dtype()));
      const Expr expected = context.normalize(sum(t * p, axis_of(p), true));
      if (!context.normalize(sum_of({total}, p.dtype())).same(expected)) continue;

      // The sum goes, so that nobody else reads the terms of t.
      std::vector<Term> parts = terms_of(t, nullptr);
      bool found = false;
      for (Term& term : parts) {
        Expr product = times_without_quotient(value_of(term), p, context);
        found = found || product.has_value();
        term = {term.negative, {}, product.has_value() ? product : value_of(term) * p};
      }
      if (!found) continue;
      const Expr a = sum_of(parts, p.dtype());
      return a - p * sum(a, axis_of(p), true);
    }
  }
  return {};
}

std::vector<RuleExample> gradient_examples() {
  using In = const std::vector<Expr>&;
  auto gradient = [](const Expr& p, const Expr& dy) { return p * (dy - sum(dy * p, axis_of(p), true)); };
  auto alone = [](const Expr& labels, const Expr& y) { return scatter_add_rows(zeros({3, 5}, y.dtype()), labels, y); };
  return {
      {{f64({3, 5}), f64({3, 5})},
       [=](In in) {
         Expr p = softmax(in[0]);
         return gradient(p, in[1] / p);
       }},
      {{f32({4, 3}), f32({4, 3})},
       [=](In in) {
         Expr p = softmax(in[0], 0);
         return gradient(p, (3 * in[1]) / p);
       }},
      {{f64({3, 5}), i64({3}), f64({3})},
       [=](In in) {
         Expr p = softmax(in[0]);
         return gradient(p, alone(in[1], in[2] / pick_rows(p, in[1])));
       },
       -5},
      {{f64({3, 5}), i64({3}), f64({3})},
       [=](In in) {
         Expr p = softmax(in[0]);
         return gradient(p, alone(in[1], in[2]) / p);
       },
       -5},
      {{f64({3, 5}), i64({2}), f64({3, 2}), f64({3, 5})},
       [=](In in) {
         Expr p = softmax(in[0]);
         Expr picked = scatter_add(zeros({3, 5}, DType::kFloat64), in[1], in[2] / take(p, in[1], 1), 1);
         return gradient(p, in[3] - picked);
       }},
  };
}

}  // namespace

const std::vector<Rule>& softmax_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kRange = Safety::kRangeChanging;
  static const std::vector<Rule> rules{
      {.name = "log_of_softmax",
       .safety = kRange,
       .rewrite = log_of_softmax,
       .roots = {&log_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return log(softmax(in[0])); }},
                    {{f32({3, 5})}, [](In in) { return log(softmax(in[0], 0)); }},
                    {{f64({0, 5})}, [](In in) { return log(softmax(in[0])); }}}},
      {.name = "log_of_selected_softmax",
       .safety = kRange,
       .rewrite = log_of_selected_softmax,
       .roots = {&log_op()},
       .examples = {{{f64({3, 5}), i64({3})}, [](In in) { return log(pick_rows(softmax(in[0]), in[1])); }},
                    {{f32({3, 5}), i64({2})}, [](In in) { return log(take(softmax(in[0]), in[1], 1)); }},
                    {{f64({3, 5})},
                     [](In in) {
                       return log(subtensor(softmax(in[0]), {all(), 1}));
                     }},
                    {{f64({3, 5})}, [](In in) { return log(transpose(softmax(in[0]))); }}}},
      {.name = "softmax_quotient",
       .safety = kRange,
       .rewrite = softmax_quotient,
       .roots = {&true_div_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return exp(in[0]) / sum(exp(in[0]), 1, true); }},
                    {{f32({3, 5})}, [](In in) { return exp(in[0]) / sum(exp(in[0]), 0, true); }},
                    {{f64({7})}, [](In in) { return exp(in[0]) / sum(exp(in[0])); }},
                    {{f64({3, 5})}, [](In in) { return exp(in[0]) / expand_dims(sum(exp(in[0]), 1), {1}); }}}},
      {.name = "softmax_quotient_times",
       .safety = kRange,
       .rewrite = softmax_quotient_times,
       .roots = {&mul_op()},
       .examples = {{{f64({3, 5}), f64({3, 1})}, [](In in) { return in[1] / sum(exp(in[0]), 1, true) * exp(in[0]); }},
                    {{f64({3, 5}), f64({3})},
                     [](In in) { return exp(in[0]) * expand_dims(in[1] / sum(exp(in[0]), 1), {1}); }},
                    {{f32({7})}, [](In in) { return (2 / sum(exp(in[0]))) * exp(in[0]); }}}},
      {.name = "mean_by_exponentials",
       .safety = kRange,
       .rewrite = mean_by_exponentials,
       .roots = {&mul_op(), &true_div_op()},
       .examples = {{{f64({3, 5}), f64({3, 5})}, [](In in) { return sum(exp(in[0]) * in[1], 1) / sum(exp(in[0]), 1); }},
                    {{f32({3, 5}), f32({5})},
                     [](In in) { return 3 * sum(in[1] * exp(in[0]), 0, true) / sum(exp(in[0]), 0, true); }},
                    {{f64({7}), f64({7})}, [](In in) { return sum(exp(in[0]) * in[1]) / sum(exp(in[0])); }}}},
      {.name = "softmax_of_shifted",
       .safety = kRange,
       .rewrite = softmax_of_shifted,
       .roots = {&softmax_op(), &log_softmax_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return softmax(in[0] - max(in[0], 1, true)); }},
                    {{f32({3, 5})}, [](In in) { return log_softmax(in[0] - max(in[0], 0, true), 0); }},
                    {{f64({7})}, [](In in) { return softmax(in[0] - expand_dims(max(in[0]), {0})); }}}},
      {.name = "log_softmax_difference",
       .safety = kRange,
       .rewrite = log_softmax_difference,
       .roots = {&sub_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return in[0] - log(sum(exp(in[0]), 1, true)); }},
                    {{f32({7})}, [](In in) { return in[0] - log(sum(exp(in[0]))); }},
                    {{f64({3, 5})}, [](In in) { return in[0] - expand_dims(log(sum(exp(in[0]), 1)), {1}); }}}},
      {.name = "exp_of_log_softmax",
       .safety = Safety::kReassociating,
       .rewrite = exp_of_log_softmax,
       .roots = {&exp_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return exp(log_softmax(in[0])); }}}},
      {.name = "softmax_gradient",
       .safety = kRange,
       .rewrite = softmax_gradient,
       .roots = {&mul_op()},
       .examples = gradient_examples()},
  };
  return rules;
}

}  // namespace thtrain
