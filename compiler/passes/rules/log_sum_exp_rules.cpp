// Logarithms of sums of exponentials that no softmax took up.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/nnet/log_sum_exp.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/rules/examples.h"

namespace thtrain {
namespace {

// Is a maximum taken off already?
bool is_shifted(const Expr& x) {
  if (!is_op(x, sub_op())) return false;
  const Node* shift = &input_of(x, 1).node();
  while (shift->op == &dimshuffle_op() || shift->op == &reshape_op() || shift->op->only_derivatives)
    shift = &shift->inputs[0].node();
  if (shift->op == &switch_op()) shift = &shift->inputs[2].node();
  return shift->op == &max_op() || shift->op == &max_or_lowest_op();
}

// The stable form of log(total); empty where total is no sum of exponentials.
Expr stable_log(const Expr& total) {
  if (!is_op(total, sum_op())) return {};
  const Expr& e = input_of(total, 0);
  if (!is_op(e, exp_op()) || e.dtype() != total.dtype()) return {};
  const Expr& x = input_of(e, 0);
  const Ints& axes = total.node().props.get<Ints>("axes");
  if (x.dtype() != total.dtype() || axes.empty() || is_shifted(x)) return {};
  for (int64_t axis : axes) {
    const Dim& length = x.dims()[static_cast<size_t>(axis)];
    if (length.is(0) || length.is(1)) return {};
  }
  return stable_log_sum_exp(x, axes, total.node().props.get<bool>("keepdims"));
}

// Also behind views: log(expand_dims(sum(exp(x))))
Expr log_sum_exp(const Expr& value, RuleContext&) {
  Expr total = input_of(value, 0);
  std::vector<const Node*> views;
  while (is_op(total, dimshuffle_op()) || is_op(total, reshape_op())) {
    views.push_back(&total.node());
    total = input_of(total, 0);
  }
  Expr out = stable_log(total);
  for (; out.has_value() && !views.empty(); views.pop_back())
    out = Expr(make_node(*views.back()->op, {out}, views.back()->props));
  return out;
}

}  // namespace

const std::vector<Rule>& log_sum_exp_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kRange = Safety::kRangeChanging;
  static const std::vector<Rule> rules{
      {.name = "log_sum_exp",
       .safety = kRange,
       .rewrite = log_sum_exp,
       .roots = {&log_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return log(sum(exp(in[0]), 1)); }},
                    {{f32({3, 5})}, [](In in) { return log(sum(exp(in[0]), 0, true)); }},
                    {{f64({7})}, [](In in) { return log(sum(exp(in[0]))); }},
                    {{f64({3, 5})}, [](In in) { return log(expand_dims(sum(exp(in[0]), 1), {0})); }}}},
  };
  return rules;
}

}  // namespace thtrain
