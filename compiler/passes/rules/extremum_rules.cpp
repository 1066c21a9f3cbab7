// The largest and the smallest elements: where they stand is told without the increasing function that was applied.
#include <algorithm>
#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/rules/examples.h"

namespace thtrain {
namespace {

// Increasing, and defined for all numbers.
bool is_increasing(const Expr& e) {
  static const Op* const ops[] = {&exp_op(),  &exp2_op(),   &expm1_op(),   &sigmoid_op(), &softplus_op(),
                                  &tanh_op(), &arctan_op(), &arcsinh_op(), &sinh_op(),    &erf_op()};
  return std::find(std::begin(ops), std::end(ops), e.node().op) != std::end(ops);
}

// What the elements of e are an increasing function of, along these axes; empty where that is not known.
Expr under_increasing(const Expr& e, const Ints& axes) {
  if (is_increasing(e)) return input_of(e, 0);
  if ((is_op(e, softmax_op()) || is_op(e, log_softmax_op())) && axes.size() == 1 &&
      e.node().props.get<int64_t>("axis") == axes[0])
    return input_of(e, 0);
  const bool divides = is_op(e, true_div_op());
  if (!divides && !is_op(e, mul_op()) && !is_op(e, add_op()) && !is_op(e, sub_op())) return {};
  for (size_t i : {0, 1}) {
    const Expr &x = input_of(e, i), &other = input_of(e, 1 - i);
    if (!(x.type() == e.type()) || (i == 1 && (divides || is_op(e, sub_op())))) continue;
    const std::optional<double> number = number_of(other);  // of a computed one nobody knows that it is finite
    const bool scales = divides || is_op(e, mul_op());
    if (number && std::isfinite(*number) && (*number > 0 || !scales)) return x;
  }
  return {};
}

// argmax(softmax(x), 1) -> argmax(x, 1)
Expr argument_of_increasing(const Expr& value, RuleContext&) {
  const Expr& e = input_of(value, 0);
  if (!is_float(e.dtype())) return {};
  const Expr x = under_increasing(e, value.node().props.get<Ints>("axes"));
  if (!x.has_value() || !(x.type() == e.type())) return {};
  return apply(*value.node().op, {x}, value.node().props);
}

// -max(-x) -> min(x)
Expr neg_of_extremum_of_neg(const Expr& value, RuleContext& context) {
  const Expr& extremum = input_of(value, 0);
  const bool largest = is_op(extremum, max_op());
  if ((!largest && !is_op(extremum, min_op())) || !context.has_one_use(extremum)) return {};
  const Expr& negative = input_of(extremum, 0);
  if (!is_op(negative, neg_op())) return {};
  return apply(largest ? min_op() : max_op(), {input_of(negative, 0)}, extremum.node().props);
}

}  // namespace

const std::vector<Rule>& extremum_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules{
      // Where the function rounds two elements to one value, or to infinity, this tells the larger.
      {.name = "argument_of_increasing",
       .safety = Safety::kRangeChanging,
       .kinds = kInts,
       .compares = true,
       .rewrite = argument_of_increasing,
       .roots = {&argmax_op(), &argmin_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return argmax(softmax(in[0]), 1); }},
                    {{f32({3, 5})}, [](In in) { return argmin(log_softmax(in[0], 0), 0); }},
                    {{f64({7})}, [](In in) { return argmax(sigmoid(2 * in[0] + 1)); }},
                    {{f64({3, 5})}, [](In in) { return argmax(tanh(in[0] / 3) - 0.5, 1, true); }}}},
      {.name = "neg_of_extremum_of_neg",
       .safety = Safety::kReassociating,
       .rewrite = neg_of_extremum_of_neg,
       .roots = {&neg_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return -max(-in[0], 1); }},
                    {{f32({3, 5})}, [](In in) { return -min(-in[0]); }}}},
  };
  return rules;
}

}  // namespace thtrain
