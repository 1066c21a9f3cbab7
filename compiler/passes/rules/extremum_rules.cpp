// The largest and the smallest elements, of all and of windows: their positions are told without the increasing
// function that was applied.
#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/windows.h"
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

// ---- pooling: the largest element of each window of the last axes

size_t pooled_axes(const Expr& pooling) {
  return PoolWindows::of(pooling.node()).axes();
}

// Is the operand of an elementwise node the same along the last `axes` axes?
bool is_same_along(const Expr& operand, size_t axes) {
  for (size_t k = 0; k < std::min(axes, operand.rank()); ++k)
    if (!operand.dims()[operand.rank() - 1 - k].is(1)) return false;
  return true;
}

// Which of two operands has all of the variation of e along the last `axes` axes; none where both vary, or neither has
// the type of e.
std::optional<size_t> varying_side(const Expr& e, size_t axes) {
  for (size_t i : {0, 1}) {
    const Expr &x = input_of(e, i), &other = input_of(e, 1 - i);
    if (x.type() == e.type() && other.dtype() == e.dtype() && is_same_along(other, axes)) return i;
  }
  return std::nullopt;
}

// What the elements of e are a strictly increasing function of, the same one along the last `axes` axes: input `side`
// of e; none where that is not known.
std::optional<size_t> side_under_increasing(const Expr& e, size_t axes) {
  if (is_increasing(e)) return input_of(e, 0).type() == e.type() ? std::optional<size_t>(0) : std::nullopt;
  if (!is_op(e, add_op()) && !is_op(e, sub_op())) return std::nullopt;
  const std::optional<size_t> side = varying_side(e, axes);
  return side == size_t{1} && is_op(e, sub_op()) ? std::nullopt : side;
}

bool is_bounded(const Expr& e) {
  return is_op(e, maximum_op()) || is_op(e, minimum_op());
}

// f(x) -> f(max_pool(x)), of input `side` of a function of elements; fewer elements.
Expr after_pooling(const Expr& pooling, const Expr& f, size_t side) {
  std::vector<Expr> inputs = f.node().inputs;
  inputs[side] = apply(max_pool_op(), {inputs[side]}, pooling.node().props);
  return apply(*f.node().op, std::move(inputs), f.node().props);
}

// max_pool(tanh(x + b)) -> tanh(max_pool(x) + b). Not where tanh(x + b) is computed anyway.
Expr pool_of_increasing(const Expr& value, RuleContext& context) {
  const Expr& e = input_of(value, 0);
  if (!context.has_one_use(e)) return {};
  const std::optional<size_t> side = side_under_increasing(e, pooled_axes(value));
  return side ? after_pooling(value, e, *side) : Expr();
}

// max_pool(maximum(x, c)) -> maximum(max_pool(x), c), and so for minimum.
Expr pool_of_bounded(const Expr& value, RuleContext& context) {
  const Expr& e = input_of(value, 0);
  if (!is_bounded(e) || !context.has_one_use(e)) return {};
  const std::optional<size_t> side = varying_side(e, pooled_axes(value));
  return side ? after_pooling(value, e, *side) : Expr();
}

// max_pool_gradient(tanh(x + b), dy) -> max_pool_gradient(x, dy), where that and the pooling alone read tanh(x + b).
Expr pool_gradient_of_increasing(const Expr& value, RuleContext& context) {
  Expr e = input_of(value, 0);
  size_t uses = 2;
  while (context.has_at_most_uses(e, uses)) {
    const std::optional<size_t> side = side_under_increasing(e, pooled_axes(value));
    if (!side) break;
    e = Expr(input_of(e, *side));
    uses = 1;
  }
  if (e.same(input_of(value, 0))) return {};
  return apply(max_pool_gradient_op(), {e, input_of(value, 1)}, value.node().props);
}

// Does the condition say that b is less than a?
bool says_less(const Expr& condition, const Expr& b, const Expr& a) {
  const bool is_less = is_op(condition, lt_op());
  if (!is_less && !is_op(condition, gt_op())) return false;
  return input_of(condition, is_less ? 0 : 1).same(b) && input_of(condition, is_less ? 1 : 0).same(a);
}

// switch(c < x, max_pool_gradient(maximum(c, x), dy), 0) -> max_pool_gradient(x, switch(c < max_pool(x), dy, 0)), and
// so for minimum: where c is taken, no element has a derivative. Of maximum(x, c), whose derivative is that of x where
// both are equal, the position of a maximum that is c is not told by x.
Expr pool_gradient_of_bounded(const Expr& value, RuleContext& context) {
  const Expr &condition = input_of(value, 0), &gradient = input_of(value, 1);
  if (!is_op(gradient, max_pool_gradient_op()) || number_of(input_of(value, 2)) != 0.0) return {};
  const Expr &e = input_of(gradient, 0), &dy = input_of(gradient, 1);
  if (!is_bounded(e) || !context.has_one_use(gradient) || !context.has_at_most_uses(e, 2)) return {};
  const bool is_largest = is_op(e, maximum_op());
  const Expr &c = input_of(e, 0), &x = input_of(e, 1);
  if (varying_side(e, pooled_axes(gradient)) != size_t{1}) return {};
  if (!(is_largest ? says_less(condition, c, x) : says_less(condition, x, c))) return {};
  const Expr pooled = apply(max_pool_op(), {x}, gradient.node().props);
  const Expr kept = switch_(is_largest ? lt(c, pooled) : lt(pooled, c), dy, 0);
  return kept.type() == dy.type() ? apply(max_pool_gradient_op(), {x, kept}, gradient.node().props) : Expr();
}

// An elementwise expression of x and numbers, at the elements that `pooled` has of x; empty where it is none.
Expr at_pooled(const Expr& e, const Expr& x, const Expr& pooled, int depth) {
  if (e.same(x)) return pooled;
  if (const Tensor* number = number_in(e)) return make_constant(*number);
  if (!e.node().op->scalar || e.node().types.size() != 1 || depth == 0) return {};
  std::vector<Expr> inputs;
  for (const Expr& input : e.node().inputs) {
    inputs.push_back(at_pooled(input, x, pooled, depth - 1));
    if (!inputs.back().has_value()) return {};
  }
  return apply(*e.node().op, std::move(inputs), e.node().props);
}

// max_pool_gradient(x, dy) * f(x) -> max_pool_gradient(x, dy * f(max_pool(x))): all else is 0.
Expr pool_gradient_times(const Expr& value, RuleContext& context) {
  constexpr int kDepth = 6;
  for (size_t i : {0, 1}) {
    const Expr &gradient = input_of(value, i), &factor = input_of(value, 1 - i);
    if (!is_op(gradient, max_pool_gradient_op()) || !context.has_one_use(gradient)) continue;
    const Expr &x = input_of(gradient, 0), &dy = input_of(gradient, 1);
    if (!(factor.type() == x.type()) || number_in(factor)) continue;
    const Expr pooled = apply(max_pool_op(), {x}, gradient.node().props), f = at_pooled(factor, x, pooled, kDepth);
    if (!f.has_value() || !(f.type() == dy.type())) continue;
    return apply(max_pool_gradient_op(), {x, dy * f}, gradient.node().props);
  }
  return {};
}

// sum(max_pool_gradient(x, dy), {0, 2, 3}) -> sum(dy, {0, 2, 3}): each element of dy is in the sum once.
Expr sum_of_pool_gradient(const Expr& value, RuleContext&) {
  const Expr& gradient = input_of(value, 0);
  if (!is_op(gradient, max_pool_gradient_op())) return {};
  const Ints& axes = value.node().props.get<Ints>("axes");
  for (size_t axis = gradient.rank() - pooled_axes(gradient); axis < gradient.rank(); ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) == axes.end()) return {};
  return apply(sum_op(), {input_of(gradient, 1)}, value.node().props);
}

// For examples: windows of 2 x 2, and of 3 x 3 that share rows and columns and have padding.
PoolOptions squares() {
  return {.window = {2, 2}};
}
Expr pool_gradient(const Expr& x, const Expr& dy, const PoolOptions& how = squares()) {
  return apply(max_pool_gradient_op(), {x, dy}, pool(x, how).node().props);
}
Expr overlapping_gradient(const Expr& x, const Expr& dy) {
  return pool_gradient(x, dy, {.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}});
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
      {.name = "pool_of_increasing",
       .safety = Safety::kRangeChanging,
       .rewrite = pool_of_increasing,
       .roots = {&max_pool_op()},
       .examples = {{{f64({2, 3, 4, 6})}, [](In in) { return pool(tanh(in[0]), squares()); }},
                    {{f32({2, 3, 4, 6}), f32({3, 1, 1})}, [](In in) { return pool(in[0] + in[1], squares()); }},
                    {{f64({3, 4, 6}), f64({})}, [](In in) { return pool(in[0] - in[1], squares()); }}}},
      // The sign of a zero may be another. A tie's derivative depends on the position in the window.
      {.name = "pool_of_bounded",
       .safety = Safety::kReassociating,
       .values_only = true,
       .rewrite = pool_of_bounded,
       .roots = {&max_pool_op()},
       .examples = {{{f32({3, 4, 6})}, [](In in) { return pool(maximum(in[0], 0.0), squares()); }},
                    {{f64({2, 3, 4, 6}), f64({3, 1, 1})},
                     [](In in) { return pool(minimum(in[1], in[0]), squares()); }}}},
      {.name = "pool_gradient_of_increasing",
       .safety = Safety::kRangeChanging,
       .rewrite = pool_gradient_of_increasing,
       .roots = {&max_pool_gradient_op()},
       .examples = {{{f64({3, 4, 6}), f64({3, 2, 3})}, [](In in) { return pool_gradient(tanh(in[0]), in[1]); }},
                    {{f32({3, 4, 6}), f32({3, 2, 3}), f32({3, 1, 1})},
                     [](In in) { return pool_gradient(in[0] + in[2], in[1]); }}}},
      {.name = "pool_gradient_of_bounded",
       .rewrite = pool_gradient_of_bounded,
       .roots = {&switch_op()},
       .examples = {{{f64({3, 4, 6}), f64({3, 2, 3})},
                     [](In in) { return switch_(lt(0, in[0]), pool_gradient(maximum(0, in[0]), in[1]), 0); }},
                    {{f32({3, 4, 6}), f32({3, 2, 3}), f32({3, 1, 1})},
                     [](In in) { return switch_(gt(in[2], in[0]), pool_gradient(minimum(in[2], in[0]), in[1]), 0); }},
                    {{f64({3, 5, 7}), f64({3, 3, 4})},
                     [](In in) {
                       return switch_(gt(in[0], 1.5), overlapping_gradient(maximum(1.5, in[0]), in[1]), 0);
                     }}}},
      {.name = "pool_gradient_times",
       .safety = Safety::kFiniteMath,  // 0 times what is not finite
       .for_gradients = true,
       .rewrite = pool_gradient_times,
       .roots = {&mul_op()},
       .examples = {{{f64({3, 4, 6}), f64({3, 2, 3})},
                     [](In in) { return pool_gradient(in[0], in[1]) * (1.0 - sqr(in[0])); }},
                    {{f32({3, 4, 6}), f32({3, 2, 3})},
                     [](In in) { return exp(in[0]) * pool_gradient(in[0], in[1]); }}}},
      {.name = "sum_of_pool_gradient",
       .safety = Safety::kReassociating,
       .rewrite = sum_of_pool_gradient,
       .roots = {&sum_op()},
       .examples = {{{f64({2, 3, 4, 6}), f64({2, 3, 2, 3})},
                     [](In in) {
                       return sum(pool_gradient(in[0], in[1]), {0, 2, 3});
                     }},
                    {{f32({3, 4, 6}), f32({3, 2, 3})},
                     [](In in) {
                       return sum(pool_gradient(in[0], in[1]), {1, 2}, true);
                     }}}},
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
