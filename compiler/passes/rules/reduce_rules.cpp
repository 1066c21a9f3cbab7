// Sums of sums, of scaled and of repeated values; products with zeros.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules.h"

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

// sum(sum(x, 0), 0) -> sum(x, {0, 1})
Expr sum_of_sum(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, sum_op()) || !context.read_once(inner)) return {};
  const Expr& x = input_of(inner, 0);
  Ints axes = axes_of(inner);
  size_t inner_axis = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    const bool gone = contains(axes_of(inner), axis);
    if (!gone && contains(axes_of(value), inner_axis)) axes.push_back(static_cast<int64_t>(axis));
    if (!gone || keeps_axes(inner)) ++inner_axis;
  }
  std::sort(axes.begin(), axes.end());
  Expr out = apply(sum_op(), {x}, {{"axes", axes}, {"keepdims", false}});
  return reshape(out, value.dims());
}

// The product with what does not change along the summed axes is made after the sum: sum(s * x) -> s * sum(x). With
// lengths that the call decides that cannot be told, so only scalars count.
Expr sum_of_scaled(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const bool divides = is_op(inner, true_div_op());
  if ((!is_op(inner, mul_op()) && !divides) || inner.dtype() != value.dtype() || !context.read_once(inner)) return {};
  for (size_t i : {1, 0}) {
    if (divides && i == 0) break;
    const Expr &scale = input_of(inner, i), &x = input_of(inner, 1 - i);
    if (scale.rank() != 0 || !(x.type() == inner.type())) continue;
    return divides ? summed_as(value, x) / scale : scale * summed_as(value, x);
  }
  return {};
}

Expr sum_of_negative(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, neg_op()) || inner.dtype() != value.dtype() || input_of(inner, 0).dtype() != value.dtype() ||
      !context.read_once(inner))
    return {};
  return -summed_as(value, input_of(inner, 0));
}

// Over axes of length 1 alone: the same elements.
Expr sum_of_single(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  for (int64_t axis : axes_of(value))
    if (!x.dims()[static_cast<size_t>(axis)].is(1)) return {};
  return cast(reshape(x, value.dims()), value.dtype());
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
Expr dot_with_zeros(const Expr& value, RuleContext&) {
  for (const Expr& input : value.node().inputs)
    if (number_of(input) == 0.0) return zeros(value.dims(), value.dtype());
  return {};
}

Type f64(Dims dims) {
  return {.dtype = DType::kFloat64, .dims = std::move(dims)};
}
Type f32(Dims dims) {
  return {.dtype = DType::kFloat32, .dims = std::move(dims)};
}
Type of(DType dtype, Dims dims) {
  return {.dtype = dtype, .dims = std::move(dims)};
}

}  // namespace

const std::vector<Rule>& reduce_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kReassociating = Safety::kReassociating;
  static const std::vector<Rule> rules{
      {.name = "sum_of_sum",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_sum,
       .roots = {&sum_op()},
       .examples = {{{f64({3, 4, 5})}, [](In in) { return sum(sum(in[0], 1), 1); }},
                    {{f32({3, 4, 5})},
                     [](In in) {
                       return sum(sum(in[0], 0, true), {0, 1});
                     }},
                    {{f64({3, 4})}, [](In in) { return sum(sum(in[0], 0), {}, true); }},
                    {{of(DType::kInt16, {3, 0, 5})}, [](In in) { return sum(sum(in[0], 2), 0); }}}},
      {.name = "sum_of_scaled",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_scaled,
       .roots = {&sum_op()},
       .examples = {{{f64({3, 4}), f64({})}, [](In in) { return sum(in[0] * in[1], 0); }},
                    {{f32({3, 4})}, [](In in) { return sum(3 * in[0]); }},
                    {{f32({3, 4}), f32({})}, [](In in) { return sum(in[0] / in[1], 1, true); }},
                    {{of(DType::kInt64, {7})}, [](In in) { return sum(in[0] * 3); }}}},
      {.name = "sum_of_negative",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_negative,
       .roots = {&sum_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return sum(-in[0], 0); }},
                    {{of(DType::kInt64, {0, 4})}, [](In in) { return sum(-in[0], 0); }}}},
      {.name = "sum_of_single",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_single,
       .roots = {&sum_op()},
       .examples = {{{f64({1, 4})}, [](In in) { return sum(in[0], 0); }},
                    {{of(DType::kInt8, {3, 1})}, [](In in) { return sum(in[0], 1, true); }},
                    {{f32({})}, [](In in) { return sum(in[0]); }}}},
      {.name = "sum_of_repeated",
       .safety = kReassociating,
       .kinds = kReals,
       .rewrite = sum_of_repeated,
       .roots = {&sum_op()},
       .examples = {{{f64({})},
                     [](In in) {
                       return sum(broadcast_to(in[0], {3, 4}), 0);
                     }},
                    {{f32({4})},
                     [](In in) {
                       return sum(broadcast_to(in[0], {3, 4}));
                     }},
                    {{f64({3, 1}), f64({3, 5})}, [](In in) { return sum(broadcast_like(in[0], in[1]), {1}, true); }},
                    {{f64({2, 1, 4})},
                     [](In in) {
                       return sum(broadcast_to(in[0], {5, 2, 3, 4}), {0, 1, 2}, true);
                     }},
                    {{of(DType::kInt8, {4})},
                     [](In in) {
                       return sum(broadcast_to(in[0], {0, 4}), 0);
                     }}}},
      {.name = "dot_with_zeros",
       .safety = Safety::kFiniteMath,
       .kinds = kAll,
       .for_gradients = true,
       .rewrite = dot_with_zeros,
       .roots = {&dot_op()},
       .examples = {{{f64({3, 4})},
                     [](In in) {
                       return dot(zeros({2, 3}, DType::kFloat64), in[0]);
                     }},
                    {{of(DType::kInt32, {3, 4})}, [](In in) { return dot(in[0], zeros({4}, DType::kInt32)); }}}},
  };
  return rules;
}

}  // namespace thtrain
