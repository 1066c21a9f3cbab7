// Reading parts of values: only the elements that are wanted are computed.
#include <algorithm>
#include <optional>

#include "compiler/ops/control/scan.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/slices.h"

namespace thtrain {
namespace {

// x[0:n, ::1] -> x; x[:, 0] of one column -> squeeze
Expr whole_slice(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_whole(*slice, x.dims())) return {};
  Ints order;
  for (size_t axis : slice->kept()) order.push_back(static_cast<int64_t>(axis));
  return dimshuffle(x, order);
}

// A part that is surely inside needs no check, and is the same as one that was never checked.
Expr slice_inside(const Expr& value, RuleContext&) {
  std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || slice->inside.empty()) return {};
  const Dims& dims = input_of(value, 0).dims();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim end = slice->starts[axis] + slice->counts[axis];
    if (slice->has(slice->inside, axis) && !(slice->starts[axis].is_at_least(0) && dims[axis].is_at_least(end)))
      return {};
  }
  slice->inside = {};
  Props props;
  slice->add_to(props);
  if (is_op(value, inc_subtensor_op())) props.set("set", value.node().props.get<bool>("set"));
  return Expr(make_node(*value.node().op, value.node().inputs, std::move(props)));
}

// x[a:b][c:d] -> x[a + c:a + d]
Expr slice_of_slice(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value), first = strided_slice_of(inner);
  if (!slice || !first || !is_op(inner, subtensor_op())) return {};
  StridedSlice out = *first;
  out.inside = {};
  size_t axis = 0;
  for (size_t k : first->kept()) {
    out.starts[k] = first->starts[k] + slice->starts[axis] * first->steps[k];
    out.counts[k] = slice->counts[axis];
    out.steps[k] = first->steps[k] * slice->steps[axis];
    if (slice->has(slice->dropped, axis++)) out.dropped.push_back(static_cast<int64_t>(k));
  }
  std::sort(out.dropped.begin(), out.dropped.end());
  return slice_of(input_of(inner, 0), out);
}

// The last value of all that a state of a loop had -> the last state
Expr slice_of_states(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_op(inner, scan_op())) return {};
  const ScanParts loop(inner.node());
  if (loop.until || inner.output() < loop.states || inner.output() >= 2 * loop.states) return {};
  const size_t state = inner.output() - loop.states;
  if (!slice->counts[0].is(1) || !(slice->starts[0] == loop.count + (loop.taps[state].depth() - 1))) return {};
  StridedSlice rest = *slice;
  rest.starts[0] = 0, rest.steps[0] = 1;
  rest.inside = {}, rest.written = {};
  return slice_of(expand_dims(Expr(inner.node_ptr(), state), {0}), rest);
}

// exp(x)[i] -> exp(x[i])
Expr slice_of_elementwise(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !inner.node().op->scalar || inner.node().types.size() != 1 || !context.has_one_use(inner)) return {};
  if (is_whole(*slice, inner.dims())) return {};
  std::vector<Expr> inputs;
  for (const Expr& operand : inner.node().inputs) inputs.push_back(slice_of_operand(operand, *slice, inner.dims()));
  return Expr(make_node(*inner.node().op, std::move(inputs), inner.node().props));
}

// broadcast_to(x, {3, n})[1] -> broadcast_to(x, {n})
Expr slice_of_broadcast(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_op(inner, broadcast_to_op())) return {};
  return broadcast_to(slice_of_operand(input_of(inner, 0), *slice, inner.dims()), value.dims());
}

// transpose(x)[i] -> x[:, i]
Expr slice_of_dimshuffle(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_op(inner, dimshuffle_op())) return {};
  const Expr& x = input_of(inner, 0);
  const Ints& order = inner.node().props.get<Ints>("order");
  StridedSlice out = full_slice(x);
  for (size_t k = 0; k < order.size(); ++k) {
    if (order[k] < 0) {
      if (!slice->counts[k].is(1)) return {};
      continue;
    }
    const size_t axis = static_cast<size_t>(order[k]);
    out.starts[axis] = slice->starts[k];
    out.counts[axis] = slice->counts[k];
    out.steps[axis] = slice->steps[k];
    if (slice->has(slice->dropped, k)) out.dropped.push_back(order[k]);
  }
  std::sort(out.dropped.begin(), out.dropped.end());
  Ints indices(x.rank(), -1), shuffled;
  int64_t next = 0;
  for (size_t axis : out.kept()) indices[axis] = next++;
  for (size_t k = 0; k < order.size(); ++k)
    if (!slice->has(slice->dropped, k)) shuffled.push_back(order[k] < 0 ? -1 : indices[static_cast<size_t>(order[k])]);
  return dimshuffle(slice_of(x, out), shuffled);
}

Dim larger(const Dim& a, const Dim& b) {
  return a.is_at_least(b) ? a : b.is_at_least(a) ? b : max(a, b);
}
Dim smaller(const Dim& a, const Dim& b) {
  return a.is_at_least(b) ? b : b.is_at_least(a) ? a : min(a, b);
}

// join(0, a, b)[1:4] -> join(0, a[1:4], b[:4 - n]), and join(1, a, b)[i] -> join(0, a[i], b[i]): what is not read is
// not copied. Where the lengths do not tell in which piece the part ends, each gives what it has of it.
Expr join_of_slices(const Expr& value, const StridedSlice& slice, size_t axis, RuleContext& context) {
  const Expr& joined = input_of(value, 0);
  const bool is_checked = slice.has(slice.inside, axis);
  if (is_checked || slice.steps[axis] != 1 || slice.has(slice.dropped, axis) || is_whole(slice, joined.dims()) ||
      !context.has_one_use(joined))
    return {};
  std::vector<Operand> parts;
  Dim begin = 0;
  for (const Expr& piece : joined.node().inputs) {
    const Dim end = begin + piece.dims()[axis];
    auto index = [&](const Dim& at) { return smaller(larger(at, begin), end) - begin; };
    StridedSlice out = slice;
    out.starts[axis] = index(slice.starts[axis]);
    out.counts[axis] = index(slice.starts[axis] + slice.counts[axis]) - out.starts[axis];
    if (!out.counts[axis].is(0)) parts.push_back(slice_of(piece, out));
    begin = end;
  }
  if (parts.empty()) return {};
  const std::vector<size_t> kept = slice.kept();
  const auto index = std::find(kept.begin(), kept.end(), axis) - kept.begin();
  return specify_lengths(join(index, parts), value.dims());
}

// join(0, a, b)[i] -> a[i], where the part lies in one value.
Expr slice_of_join(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_op(inner, join_op())) return {};
  const size_t axis = static_cast<size_t>(inner.node().props.get<int64_t>("axis"));
  const Dim first = slice->starts[axis], last = first + (slice->counts[axis] - 1) * Dim(slice->steps[axis]);
  const Dim &low = slice->steps[axis] > 0 ? first : last, &high = slice->steps[axis] > 0 ? last : first;
  Dim start = 0;
  for (const Expr& piece : inner.node().inputs) {
    const Dim end = start + piece.dims()[axis];
    if (low.is_at_least(start) && end.is_at_least(high + 1)) {
      StridedSlice out = *slice;
      out.inside = {};
      out.starts[axis] = first - start;
      return slice_of(piece, out);
    }
    start = end;
  }
  return join_of_slices(value, *slice, axis, context);
}

// dot(a, b)[i] -> dot(a[i], b)
Expr slice_of_dot(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_op(inner, dot_op()) || !context.has_one_use(inner) || is_whole(*slice, inner.dims())) return {};
  std::vector<Expr> inputs = inner.node().inputs;
  size_t axis = 0;  // of the product
  for (size_t i : {0, 1}) {
    if (inputs[i].rank() != 2) continue;
    StridedSlice out = full_slice(inputs[i]);
    out.starts[i] = slice->starts[axis];
    out.counts[i] = slice->counts[axis];
    out.steps[i] = slice->steps[axis];
    if (slice->has(slice->dropped, axis++)) out.dropped.push_back(static_cast<int64_t>(i));
    inputs[i] = slice_of(inputs[i], out);
  }
  return dot(inputs[0], inputs[1]);
}

// sum(x, 1)[i] -> sum(x[i], 0)
Expr slice_of_reduction(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !reduction_of(*inner.node().op) || !context.has_one_use(inner)) return {};
  if (is_whole(*slice, inner.dims())) return {};
  const Expr& x = input_of(inner, 0);
  const Ints& axes = inner.node().props.get<Ints>("axes");
  const bool keeps = inner.node().props.get<bool>("keepdims");
  StridedSlice out = full_slice(x);
  Ints reduced;
  size_t axis = 0, index = 0;  // of the reduction's result, of the part of x
  for (size_t k = 0; k < x.rank(); ++k) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) != axes.end()) {
      reduced.push_back(static_cast<int64_t>(index++));
      if (!keeps) continue;
      if (slice->has(slice->dropped, axis) || !slice->counts[axis].is(1)) return {};
      ++axis;
      continue;
    }
    out.starts[k] = slice->starts[axis];
    out.counts[k] = slice->counts[axis];
    out.steps[k] = slice->steps[axis];
    if (slice->has(slice->dropped, axis))
      out.dropped.push_back(static_cast<int64_t>(k));
    else
      ++index;
    ++axis;
  }
  Props props = inner.node().props;
  props.set("axes", reduced);
  return apply(*inner.node().op, {slice_of(x, out)}, std::move(props));
}

// softmax(x, 1)[i] -> softmax(x[i], 0), where whole slices are read.
Expr slice_of_softmax(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  const bool fits = is_op(inner, softmax_op()) || is_op(inner, log_softmax_op());
  if (!slice || !fits || !context.has_one_use(inner) || is_whole(*slice, inner.dims())) return {};
  const size_t axis = static_cast<size_t>(inner.node().props.get<int64_t>("axis"));
  const bool whole = slice->starts[axis].is(0) && slice->counts[axis] == inner.dims()[axis] && slice->steps[axis] == 1;
  if (!whole || slice->has(slice->dropped, axis)) return {};
  StridedSlice out = *slice;
  out.inside = {};
  const std::vector<size_t> kept = out.kept();
  const auto index = std::find(kept.begin(), kept.end(), axis) - kept.begin();
  return apply(*inner.node().op, {slice_of(input_of(inner, 0), out)}, {{"axis", static_cast<int64_t>(index)}});
}

// take(x, 3) -> x[3]: a view.
Expr take_of_number(const Expr& value, RuleContext&) {
  const Expr &x = input_of(value, 0), &index = input_of(value, 1);
  const size_t axis = indexed_axes_of(value.node()).named[0];
  const Tensor* number = index.rank() == 0 && value.node().inputs.size() == 2 ? constant_value(index) : nullptr;
  const Dim& length = x.dims()[axis];
  if (!number || !length.is_known()) return {};
  const int64_t at = number->as_int() < 0 ? number->as_int() + length.value() : number->as_int();
  if (at < 0 || at >= length.value()) return {};  // an error that the call reports
  StridedSlice out = full_slice(x);
  out.starts[axis] = at;
  out.counts[axis] = 1;
  out.dropped = {static_cast<int64_t>(axis)};
  return slice_of(x, out);
}

// pick_rows(exp(x), labels) -> exp(pick_rows(x, labels)): once for each row.
Expr pick_of_elementwise(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const Node& node = inner.node();
  if (!is_by_row(value.node()) || !node.op->scalar || node.types.size() != 1 || !context.has_one_use(inner)) return {};
  std::vector<Expr> inputs;
  bool checked = false;  // are the labels still compared with the number of classes?
  for (const Expr& operand : node.inputs) {
    if (operand.dims() == inner.dims()) {
      inputs.push_back(gather_like(value.node(), operand));
      checked = true;
    } else if (operand.rank() == 2 && operand.dims()[1].is(1) && operand.dims()[0] == inner.dims()[0]) {
      inputs.push_back(dimshuffle(operand, {0}));
    } else if (operand.rank() == 0) {
      inputs.push_back(operand);
    } else {
      return {};
    }
  }
  return checked ? Expr(make_node(*node.op, std::move(inputs), node.props)) : Expr();
}

Expr part(const Expr& x, const std::vector<Index>& indices) {
  return subtensor(x, indices);
}

}  // namespace

// All values of a state of a loop, which is read one iteration back or two.
Expr states_of(const Expr& first, int64_t iterations, bool deep) {
  const ScanOutput state(deep ? stack({first, first * 2}) : first, {deep ? -2 : -1});
  const Expr all = scan([](Expr s) { return sin(s) + s; }, {.outputs_info = {state}, .n_steps = iterations}).outputs;
  return all.node().inputs[0];
}

const std::vector<Rule>& slice_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating;
  static const std::vector<Rule> rules{
      rule_about(subtensor_op(), "whole_slice", whole_slice, kExact,
                 {{{f64({3, 4})},
                   [](In in) {
                     return part(in[0], {Slice{0, 3}, Slice{.stop = 9}});
                   }},
                  {{f32({3, 1})},
                   [](In in) {
                     return part(in[0], {all(), 0});
                   }},
                  {{i64({0, 4})}, [](In in) { return part(in[0], {Slice{.start = 0}}); }}}),
      {.name = "slice_inside",
       .kinds = kAll,
       .rewrite = slice_inside,
       .roots = {&subtensor_op(), &inc_subtensor_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return part(in[0], {-1}); }},
                    {{f32({3, 4}), f32({4})}, [](In in) { return inc_subtensor(part(in[0], {1}), in[1]); }}}},
      rule_about(subtensor_op(), "slice_of_slice", slice_of_slice, kExact,
                 {{{f64({9, 4})},
                   [](In in) {
                     return part(part(in[0], {Slice{2, 8}}), {Slice{1, 4}});
                   }},
                  {{f32({9, 4})},
                   [](In in) {
                     return part(part(in[0], {all(), 1}), {Slice{.step = -2}});
                   }},
                  {{f64({9, 4})},
                   [](In in) {
                     return part(part(in[0], {Slice{7, 1, -2}, Slice{1, 3}}), {1, -1});
                   }},
                  {{i64({9})},
                   [](In in) {
                     return part(part(in[0], {Slice{3, 5}}), {Slice{1, 1}});
                   }}}),
      rule_about(subtensor_op(), "slice_of_states", slice_of_states, kExact,
                 {{{f64({3})}, [](In in) { return part(states_of(in[0], 4, false), {-1}); }},
                  {{f64({3})},
                   [](In in) {
                     return part(states_of(in[0], 5, true), {Slice{6, 7}, 1});
                   }},
                  {{f64({3})},
                   [](In in) {
                     return part(states_of(in[0], 0, false), {-1, Slice{.start = 1}});
                   }}}),
      rule_about(subtensor_op(), "slice_of_elementwise", slice_of_elementwise, kExact,
                 {{{f64({5, 4}), f64({4})}, [](In in) { return part(exp(in[0]) - in[1], {2}); }},
                  {{f32({5, 4}), f32({5, 1})},
                   [](In in) {
                     return part(in[0] * in[1], {Slice{1, 3}, 2});
                   }},
                  {{f64({5}), f64({})}, [](In in) { return part(maximum(in[0], in[1]), {Slice{.step = -1}}); }}}),
      rule_about(subtensor_op(), "slice_of_broadcast", slice_of_broadcast, kExact,
                 {{{f64({4})},
                   [](In in) {
                     return part(broadcast_to(in[0], {3, 4}), {1});
                   }},
                  {{f32({3, 1})},
                   [](In in) {
                     return part(broadcast_to(in[0], {3, 5}), {Slice{1, 3}, Slice{2, 4}});
                   }},
                  {{f64({})},
                   [](In in) {
                     return part(broadcast_to(in[0], {7}), {Slice{2, 2}});
                   }}}),
      rule_about(subtensor_op(), "slice_of_dimshuffle", slice_of_dimshuffle, kExact,
                 {{{f64({3, 4})}, [](In in) { return part(transpose(in[0]), {1}); }},
                  {{f32({3, 4})},
                   [](In in) {
                     return part(dimshuffle(in[0], {1, -1, 0}), {Slice{1, 3}, 0});
                   }},
                  {{i64({3, 1, 4})},
                   [](In in) {
                     return part(transpose(squeeze(in[0])), {all(), Slice{0, 2}});
                   }}}),
      rule_about(subtensor_op(), "slice_of_join", slice_of_join, kExact,
                 {{{f64({3, 4}), f64({2, 4})},
                   [](In in) {
                     return part(join(0, {in[0], in[1]}), {3});
                   }},
                  {{f32({3}), f32({5})},
                   [](In in) {
                     return part(join(0, {in[0], in[1]}), {Slice{6, 3, -2}});
                   }},
                  {{f64({4}), f64({4})},
                   [](In in) {
                     return part(stack({in[0], in[1]}), {0});
                   }},
                  {{f64({3, 4}), f64({2, 4})},
                   [](In in) {
                     return part(join(0, {in[0], in[1]}), {Slice{1, 4}});
                   }},
                  {{f32({3, 4}), f32({3, 5})},
                   [](In in) {
                     return part(join(1, {in[0], in[1]}), {1});
                   }},
                  {{f64({3}), f64({3}), f64({2})},
                   [](In in) {
                     return part(join(0, {in[0], in[1], in[2]}), {Slice{4, 8}});
                   }}}),
      rule_about(subtensor_op(), "slice_of_dot", slice_of_dot, kReassociating,
                 {{{f64({3, 4}), f64({4, 5})}, [](In in) { return part(dot(in[0], in[1]), {1}); }},
                  {{f32({3, 4}), f32({4, 5})},
                   [](In in) {
                     return part(dot(in[0], in[1]), {Slice{0, 2}, 3});
                   }},
                  {{f64({3, 4}), f64({4, 5})},
                   [](In in) {
                     return part(dot(in[0], in[1]), {2, 1});
                   }},
                  {{f64({4}), f64({4, 5})}, [](In in) { return part(dot(in[0], in[1]), {Slice{.start = 3}}); }}}),
      rule_about(subtensor_op(), "slice_of_reduction", slice_of_reduction, kReassociating,
                 {{{f64({3, 4})}, [](In in) { return part(sum(in[0], 1), {1}); }},
                  {{f32({3, 4, 2})},
                   [](In in) {
                     return part(max(in[0], {1}, true), {2, all(), Slice{0, 1}});
                   }},
                  {{i64({3, 4, 2})},
                   [](In in) {
                     return part(prod(in[0], 0), {Slice{1, 3}, 1});
                   }}}),
      rule_about(subtensor_op(), "slice_of_softmax", slice_of_softmax, kReassociating,
                 {{{f64({3, 4})}, [](In in) { return part(softmax(in[0]), {1}); }},
                  {{f32({3, 4})},
                   [](In in) {
                     return part(log_softmax(in[0], 0), {all(), Slice{1, 3}});
                   }}}),
      {.name = "take_of_number",
       .kinds = kAll,
       .rewrite = take_of_number,
       .roots = {&gather_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return take(in[0], 1); }},
                    {{i64({3, 4})}, [](In in) { return take(in[0], -1, 1); }}}},
      {.name = "pick_of_elementwise",
       .kinds = kAll,
       .rewrite = pick_of_elementwise,
       .roots = {&gather_op()},
       .examples = {{{f64({3, 5}), i64({3})}, [](In in) { return pick_rows(exp(in[0]), in[1]); }, -5},
                    {{f32({3, 5}), i64({3}), f32({3, 1})},
                     [](In in) { return pick_rows(2 * (in[0] - in[2]), in[1]); }}}},
  };
  return rules;
}

}  // namespace thtrain
