// Reductions of reductions, of views, of scaled and of repeated values; products with zeros.
#include <algorithm>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/rules/examples.h"

namespace thtrain {
namespace {

const Ints& axes_of(const Expr& reduced) {
  return reduced.node().props.get<Ints>("axes");
}
bool keeps_axes(const Expr& reduced) {
  return reduced.node().props.get<bool>("keepdims");
}
bool contains(const Ints& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

// As `like`, a sum, sums; no axes at all leave x as it is.
Expr summed_as(const Expr& like, const Expr& x) {
  return apply(sum_op(), {x}, like.node().props);
}

const std::vector<const Op*>& reductions() {
  static const std::vector<const Op*> ops{&sum_op(), &prod_op(), &min_op(), &max_op(), &any_op(), &all_op()};
  return ops;
}

Expr reduced(const Expr& like, const Expr& x, Ints axes) {
  return apply(*like.node().op, {x}, {{"axes", std::move(axes)}, {"keepdims", false}});
}

// sum(sum(x, 0), 0) -> sum(x, {0, 1}), and so for every reduction of itself.
Expr reduction_of_same(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, *value.node().op) || !context.has_one_use(inner)) return {};
  const Expr& x = input_of(inner, 0);
  Ints axes = axes_of(inner);
  size_t inner_axis = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    const bool gone = contains(axes_of(inner), axis);
    if (!gone && contains(axes_of(value), inner_axis)) axes.push_back(static_cast<int64_t>(axis));
    if (!gone || keeps_axes(inner)) ++inner_axis;
  }
  std::sort(axes.begin(), axes.end());
  return reshape(reduced(value, x, axes), value.dims());
}

// max(dimshuffle(x, [1, -1, 0]), 2) -> dimshuffle(max(x, 0), [0, -1])
Expr reduction_of_shuffled(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (is_op(inner, reshape_op()) && axes_of(value).size() == inner.rank()) {
    const Expr& x = input_of(inner, 0);
    Ints axes(x.rank());
    std::iota(axes.begin(), axes.end(), 0);
    return reshape(reduced(value, x, axes), value.dims());
  }
  if (!is_op(inner, dimshuffle_op())) return {};
  const Expr& x = input_of(inner, 0);
  const Ints& order = inner.node().props.get<Ints>("order");
  Ints axes, indices(x.rank(), -1), out;  // indices: where an axis of x is after the reduction
  for (size_t k = 0; k < order.size(); ++k)
    if (order[k] >= 0 && contains(axes_of(value), k)) axes.push_back(order[k]);
  std::sort(axes.begin(), axes.end());
  int64_t kept = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis)
    if (!contains(axes, axis)) indices[axis] = kept++;
  for (size_t k = 0; k < order.size(); ++k)
    if (!contains(axes_of(value), k))
      out.push_back(order[k] < 0 ? -1 : indices[static_cast<size_t>(order[k])]);
    else if (keeps_axes(value))
      out.push_back(-1);
  return dimshuffle(reduced(value, x, axes), out);
}

// sum(join(0, a, b), 0) -> sum(a + b, 0), where a and b have length 1 there: no copy is made.
Expr reduction_of_stack(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, join_op()) || !context.has_one_use(inner)) return {};
  const size_t axis = static_cast<size_t>(inner.node().props.get<int64_t>("axis"));
  if (!contains(axes_of(value), axis)) return {};
  const std::pair<const Op*, const Op*> ways[] = {{&sum_op(), &add_op()},        {&prod_op(), &mul_op()},
                                                  {&max_op(), &maximum_op()},    {&min_op(), &minimum_op()},
                                                  {&any_op(), &logical_or_op()}, {&all_op(), &logical_and_op()}};
  const Op* combine = nullptr;
  for (const auto& [reduction, operation] : ways)
    if (is_op(value, *reduction)) combine = operation;
  if (is_bool(value.dtype()) && !is_bool(inner.dtype())) return {};
  Expr out;
  for (const Expr& piece : inner.node().inputs) {
    if (!piece.dims()[axis].is(1)) return {};
    Expr element = cast(piece, value.dtype());
    out = out.has_value() ? apply(*combine, {out, element}) : element;
  }
  return apply(*value.node().op, {out}, value.node().props);
}

// A scalar multiplies the sum: sum(s * x) -> s * sum(x). So does 1 / s for any s that does not change along the summed
// axes (known lengths of 1, and axes that it has not, tell that): a product is as cheap within the sum, a division is
// not.
Expr sum_of_scaled(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const bool divides = is_op(inner, true_div_op());
  if ((!is_op(inner, mul_op()) && !divides) || inner.dtype() != value.dtype() || !context.has_one_use(inner)) return {};
  for (size_t i : {1, 0}) {
    if (divides && i == 0) break;
    const Expr &scale = input_of(inner, i), &x = input_of(inner, 1 - i);
    if (!(x.type() == inner.type()) || (!divides && scale.rank() > 0)) continue;
    const size_t added = inner.rank() - scale.rank();
    bool constant = true;
    Ints kept;
    for (size_t axis = 0; axis < scale.rank(); ++axis) {
      const bool summed = contains(axes_of(value), axis + added);
      constant = constant && (!summed || (scale.dims()[axis].is(1) && !inner.dims()[axis + added].is(1)));
      if (!summed || keeps_axes(value)) kept.push_back(static_cast<int64_t>(axis));
    }
    if (!constant) continue;
    const Expr total = summed_as(value, x), factor = dimshuffle(scale, kept);
    return divides ? total / factor : factor * total;
  }
  return {};
}

Expr sum_of_negative(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, neg_op()) || inner.dtype() != value.dtype() || input_of(inner, 0).dtype() != value.dtype() ||
      !context.has_one_use(inner))
    return {};
  return -summed_as(value, input_of(inner, 0));
}

// Over axes of length 1 alone: the same elements.
Expr reduction_of_single(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  for (int64_t axis : axes_of(value))
    if (!x.dims()[static_cast<size_t>(axis)].is(1)) return {};
  const Expr elements = reshape(x, value.dims());
  if (is_bool(value.dtype()) && !is_bool(x.dtype())) return neq(elements, 0);
  return cast(elements, value.dtype());
}

// max(broadcast_to(x, {3, n}), 0) -> max(x): an element and its copies. Only where there is one.
Expr extremum_of_repeated(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, broadcast_to_op())) return {};
  const Expr& x = input_of(inner, 0);
  const size_t added = inner.rank() - x.rank();
  Ints axes, order;  // of x, reduced; of what is left, where 1 was repeated
  bool found = false;
  Dims kept;
  for (size_t i = 0; i < inner.rank(); ++i) {
    const bool reduces = contains(axes_of(value), i);
    const bool repeated = i < added || (x.dims()[i - added].is(1) && !inner.dims()[i].is(1));
    if (reduces && repeated && !(inner.dims()[i].is_known() && inner.dims()[i].value() > 0)) return {};
    found = found || (reduces && repeated);
    if (reduces && i >= added) axes.push_back(static_cast<int64_t>(i - added));
    if (i >= added && (!reduces || keeps_axes(value))) kept.push_back(reduces ? Dim(1) : x.dims()[i - added]);
  }
  return found ? reshape(reduced(value, x, axes), kept) : Expr();
}

// The number of repetitions as a scalar of this dtype.
Expr count_of(const Dim& count, DType dtype) {
  if (count.is_known()) return make_constant(Tensor(count.value()).cast(dtype));
  return cast(apply(length_op(), {}, {{"dim", Dims{count}}}), dtype);
}

// sum(broadcast_to(x)) -> number of repetitions * sum of x
Expr sum_of_repeated(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, broadcast_to_op())) return {};
  const Expr& x = input_of(inner, 0);
  const size_t added = inner.rank() - x.rank();
  Dim count = 1;
  Ints axes;  // of x
  Dims kept;  // the lengths of the result before its own repetition, where the reduced axes stay with length 1
  bool found = false;
  for (size_t i = 0; i < inner.rank(); ++i) {
    const bool reduced = contains(axes_of(value), i);
    const bool repeated = i < added || (x.dims()[i - added].is(1) && !inner.dims()[i].is(1));
    if (reduced && repeated) {
      count = count * inner.dims()[i];
      found = true;
    }
    if (reduced && i >= added) axes.push_back(static_cast<int64_t>(i - added));
    if (i >= added && (!reduced || keeps_axes(value))) kept.push_back(reduced ? Dim(1) : x.dims()[i - added]);
  }
  if (!found) return {};
  Expr total = cast(x, value.dtype());
  if (!axes.empty()) total = reshape(apply(sum_op(), {total}, {{"axes", axes}, {"keepdims", false}}), kept);
  return total * count_of(count, value.dtype());
}

// dot(0, x) -> 0
// prod(exp(x)) -> exp(sum(x))
Expr prod_of_exp(const Expr& value, RuleContext& context) {
  const Expr& e = input_of(value, 0);
  if (!is_op(e, exp_op()) || e.dtype() != value.dtype() || !context.has_one_use(e)) return {};
  return exp(apply(sum_op(), {input_of(e, 0)}, value.node().props));
}

Expr dot_with_zeros(const Expr& value, RuleContext&) {
  for (const Expr& input : value.node().inputs)
    if (number_of(input) == 0.0) return zeros(value.dims(), value.dtype());
  return {};
}

Type of(DType dtype, Dims dims) {
  return {.dtype = dtype, .dims = std::move(dims)};
}

}  // namespace

const std::vector<Rule>& reduce_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kReassociating = Safety::kReassociating;
  static const std::vector<Rule> rules{
      {.name = "reduction_of_same",
       .safety = kReassociating,
       .kinds = kBools | kReals,
       .rewrite = reduction_of_same,
       .roots = reductions(),
       .examples = {{{f64({3, 4, 5})}, [](In in) { return sum(sum(in[0], 1), 1); }},
                    {{f32({3, 4, 5})},
                     [](In in) {
                       return sum(sum(in[0], 0, true), {0, 1});
                     }},
                    {{f64({3, 4})}, [](In in) { return max(max(in[0], 0), {}, true); }},
                    {{f32({3, 4})}, [](In in) { return prod(prod(in[0], 1)); }},
                    {{of(DType::kBool, {3, 4})}, [](In in) { return any(any(in[0], 1)); }},
                    {{of(DType::kInt16, {3, 0, 5})}, [](In in) { return sum(sum(in[0], 2), 0); }}}},
      {.name = "reduction_of_shuffled",
       .safety = kReassociating,
       .kinds = kBools | kReals,
       .rewrite = reduction_of_shuffled,
       .roots = reductions(),
       .examples = {{{f64({3, 4})}, [](In in) { return sum(transpose(in[0]), 0); }},
                    {{f64({3, 4})}, [](In in) { return sum(transpose(in[0])); }},
                    {{f32({3, 1, 4})},
                     [](In in) {
                       return max(dimshuffle(in[0], {2, -1, 0}), {2, 1}, true);
                     }},
                    {{f64({2, 3, 4})}, [](In in) { return min(transpose(in[0]), 1); }},
                    {{f64({2, 3, 4})},
                     [](In in) {
                       return sum(reshape(in[0], {6, 4}), {}, true);
                     }},
                    {{of(DType::kInt32, {3, 4})}, [](In in) { return prod(transpose(in[0]), 1, true); }}}},
      {.name = "reduction_of_stack",
       .safety = kReassociating,
       .kinds = kBools | kReals,
       .rewrite = reduction_of_stack,
       .roots = {&sum_op(), &prod_op(), &any_op(), &all_op()},
       .examples = {{{f64({4}), f64({4})},
                     [](In in) {
                       return sum(stack({in[0], in[1]}), 0);
                     }},
                    {{f32({}), f32({}), f32({})},
                     [](In in) {
                       return prod(stack({in[0], in[1], in[2]}));
                     }},
                    {{of(DType::kBool, {4}), of(DType::kBool, {4})},
                     [](In in) {
                       return all(stack({in[0], in[1]}), 0);
                     }},
                    {{of(DType::kInt8, {4}), of(DType::kInt8, {4})},
                     [](In in) {
                       return sum(stack({in[0], in[1]}));
                     }}}},
      // Of equal elements max gives each the derivative, maximum the first alone.
      {.name = "extremum_of_stack",
       .safety = kReassociating,
       .kinds = kBools | kReals,
       .values_only = true,
       .rewrite = reduction_of_stack,
       .roots = {&min_op(), &max_op()},
       .examples = {{{f64({3, 4}), f64({3, 4})},
                     [](In in) {
                       return max(stack({in[0], in[1]}, 1), 1, true);
                     }},
                    {{f32({4}), f32({4}), f32({4})},
                     [](In in) {
                       return min(stack({in[0], in[1], in[2]}), 0);
                     }},
                    {{of(DType::kInt8, {4}), of(DType::kInt8, {4})},
                     [](In in) {
                       return max(stack({in[0], in[1]}));
                     }}}},
      {.name = "sum_of_scaled",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_scaled,
       .roots = {&sum_op()},
       .examples = {{{f64({3, 4}), f64({})}, [](In in) { return sum(in[0] * in[1], 0); }},
                    {{f32({3, 4})}, [](In in) { return sum(3 * in[0]); }},
                    {{f64({3, 4}), f64({3, 1})}, [](In in) { return sum(in[0] / in[1], 1); }},
                    {{f64({3, 4}), f64({4})}, [](In in) { return sum(in[0] / in[1], 0, true); }},
                    {{f32({2, 3, 4}), f32({3, 1})},
                     [](In in) {
                       return sum(in[0] / in[1], {0, 2});
                     }},
                    {{f32({3, 4}), f32({})}, [](In in) { return sum(in[0] / in[1], 1, true); }},
                    {{of(DType::kInt64, {7})}, [](In in) { return sum(in[0] * 3); }}}},
      {.name = "sum_of_negative",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_negative,
       .roots = {&sum_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return sum(-in[0], 0); }},
                    {{f32({0, 4})}, [](In in) { return sum(-in[0], 0); }},
                    {{of(DType::kInt64, {0, 4})}, [](In in) { return sum(-in[0], 0); }}}},
      {.name = "reduction_of_single",
       .safety = kReassociating,
       .kinds = kBools | kReals,
       .rewrite = reduction_of_single,
       .roots = reductions(),
       .examples = {{{f64({1, 4})}, [](In in) { return sum(in[0], 0); }},
                    {{of(DType::kInt8, {3, 1})}, [](In in) { return sum(in[0], 1, true); }},
                    {{f64({3, 1})}, [](In in) { return max(in[0], 1); }},
                    {{f64({60, 1})}, [](In in) { return any(in[0], 1); }},
                    {{f32({})}, [](In in) { return prod(in[0]); }}}},
      // Each of the equal elements has the derivative of the extremum.
      {.name = "extremum_of_repeated",
       .kinds = kBools | kReals,
       .values_only = true,
       .rewrite = extremum_of_repeated,
       .roots = {&min_op(), &max_op(), &any_op(), &all_op()},
       .examples = {{{f64({4})}, [](In in) { return max(broadcast_to(in[0], {3, 4}), 0); }},
                    {{f32({3, 1})}, [](In in) { return min(broadcast_to(in[0], {2, 3, 5}), {0, 2}, true); }},
                    {{f64({3, 1})}, [](In in) { return max(broadcast_to(in[0], {2, 3, 5}), {0, 1}); }},
                    {{f64({3})}, [](In in) { return min(broadcast_to(in[0], {2, 3})); }},
                    {{of(DType::kBool, {3})}, [](In in) { return all(broadcast_to(in[0], {2, 3})); }},
                    {{of(DType::kBool, {})}, [](In in) { return all(broadcast_to(in[0], {3})); }}}},
      {.name = "sum_of_repeated",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_repeated,
       .roots = {&sum_op()},
       .examples = {{{f64({})}, [](In in) { return sum(broadcast_to(in[0], {3, 4}), 0); }},
                    {{f32({4})}, [](In in) { return sum(broadcast_to(in[0], {3, 4})); }},
                    {{f64({3, 1}), f64({3, 5})}, [](In in) { return sum(broadcast_like(in[0], in[1]), {1}, true); }},
                    {{f64({2, 1, 4})}, [](In in) { return sum(broadcast_to(in[0], {5, 2, 3, 4}), {0, 1, 2}, true); }},
                    {{of(DType::kInt8, {4})}, [](In in) { return sum(broadcast_to(in[0], {0, 4}), 0); }}}},
      {.name = "prod_of_exp",
       .safety = Safety::kRangeChanging,
       .rewrite = prod_of_exp,
       .roots = {&prod_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return prod(exp(in[0]), 0); }},
                    {{f32({4})}, [](In in) { return prod(exp(in[0])); }}}},
      {.name = "dot_with_zeros",
       .safety = Safety::kFiniteMath,
       .kinds = kAll,
       .for_gradients = true,
       .rewrite = dot_with_zeros,
       .roots = {&dot_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return dot(zeros({2, 3}, DType::kFloat64), in[0]); }},
                    {{of(DType::kInt32, {3, 4})}, [](In in) { return dot(in[0], zeros({4}, DType::kInt32)); }}}},
  };
  return rules;
}

}  // namespace thtrain
