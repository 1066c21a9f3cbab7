// Reading parts of values: only the elements that are wanted are computed.
#include <algorithm>
#include <optional>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/picked.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/passes/rules/parts.h"

namespace thtrain {
namespace {

// x[0:n, ::1] -> x; x[:, 0] of one column -> squeeze
Expr whole_part(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !is_whole(*box, x.dims())) return {};
  Ints order;
  for (size_t axis : box->kept()) order.push_back(static_cast<int64_t>(axis));
  return dimshuffle(x, order);
}

// A part that is surely inside needs no check, and is the same as one that was never checked.
Expr part_inside(const Expr& value, RuleContext&) {
  std::optional<Box> box = box_of(value);
  if (!box || (box->inside.empty() && box->to_end.empty())) return {};
  const Dims& dims = input_of(value, 0).dims();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim end = box->starts[axis] + box->counts[axis];
    if (box->has(box->inside, axis) && !(box->starts[axis].is_at_least(0) && dims[axis].is_at_least(end))) return {};
    if (box->has(box->to_end, axis) && !(dims[axis] == end)) return {};
  }
  box->inside = box->to_end = {};
  Props props;
  box->add_to(props);
  if (is_op(value, inc_subtensor_op())) props.set("set", value.node().props.get<bool>("set"));
  return Expr(make_node(*value.node().op, value.node().inputs, std::move(props)));
}

// x[a:b][c:d] -> x[a + c:a + d]
Expr part_of_part(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value), first = box_of(inner);
  if (!box || !first || !is_op(inner, subtensor_op())) return {};
  Box out = *first;
  out.inside = out.to_end = {};
  size_t axis = 0;
  for (size_t k : first->kept()) {
    out.starts[k] = first->starts[k] + box->starts[axis] * first->steps[k];
    out.counts[k] = box->counts[axis];
    out.steps[k] = first->steps[k] * box->steps[axis];
    if (box->has(box->dropped, axis++)) out.dropped.push_back(static_cast<int64_t>(k));
  }
  std::sort(out.dropped.begin(), out.dropped.end());
  return part_of(input_of(inner, 0), out);
}

// exp(x)[i] -> exp(x[i])
Expr part_of_elementwise(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !inner.node().op->scalar || inner.node().types.size() != 1 || !context.read_once(inner)) return {};
  if (is_whole(*box, inner.dims())) return {};
  std::vector<Expr> inputs;
  for (const Expr& operand : inner.node().inputs) inputs.push_back(part_of_operand(operand, *box, inner.dims()));
  return Expr(make_node(*inner.node().op, std::move(inputs), inner.node().props));
}

// broadcast_to(x, {3, n})[1] -> broadcast_to(x, {n})
Expr part_of_repeated(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !is_op(inner, broadcast_to_op())) return {};
  return broadcast_to(part_of_operand(input_of(inner, 0), *box, inner.dims()), value.dims());
}

// transpose(x)[i] -> x[:, i]
Expr part_of_shuffled(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !is_op(inner, dimshuffle_op())) return {};
  const Expr& x = input_of(inner, 0);
  const Ints& order = inner.node().props.get<Ints>("order");
  Box out = whole_box(x);
  for (size_t k = 0; k < order.size(); ++k) {
    if (order[k] < 0) {
      if (!box->counts[k].is(1)) return {};
      continue;
    }
    const size_t axis = static_cast<size_t>(order[k]);
    out.starts[axis] = box->starts[k];
    out.counts[axis] = box->counts[k];
    out.steps[axis] = box->steps[k];
    if (box->has(box->dropped, k)) out.dropped.push_back(order[k]);
  }
  std::sort(out.dropped.begin(), out.dropped.end());
  Ints places(x.rank(), -1), shuffled;
  int64_t next = 0;
  for (size_t axis : out.kept()) places[axis] = next++;
  for (size_t k = 0; k < order.size(); ++k)
    if (!box->has(box->dropped, k)) shuffled.push_back(order[k] < 0 ? -1 : places[static_cast<size_t>(order[k])]);
  return dimshuffle(part_of(x, out), shuffled);
}

Dim larger(const Dim& a, const Dim& b) {
  return a.is_at_least(b) ? a : b.is_at_least(a) ? b : max(a, b);
}
Dim smaller(const Dim& a, const Dim& b) {
  return a.is_at_least(b) ? b : b.is_at_least(a) ? a : min(a, b);
}

// join(0, a, b)[1:4] -> join(0, a[1:4], b[:4 - n]), and join(1, a, b)[i] -> join(0, a[i], b[i]): what is not read is
// not copied. Where the lengths do not tell in which piece the part ends, each gives what it has of it.
Expr join_of_parts(const Expr& value, const Box& box, size_t axis, RuleContext& context) {
  const Expr& joined = input_of(value, 0);
  const bool is_checked = box.has(box.inside, axis) || box.has(box.to_end, axis);
  if (is_checked || box.steps[axis] != 1 || box.has(box.dropped, axis) || is_whole(box, joined.dims()) ||
      !context.read_once(joined))
    return {};
  std::vector<Operand> parts;
  Dim begin = 0;
  for (const Expr& piece : joined.node().inputs) {
    const Dim end = begin + piece.dims()[axis];
    auto place = [&](const Dim& at) { return smaller(larger(at, begin), end) - begin; };
    Box out = box;
    out.starts[axis] = place(box.starts[axis]);
    out.counts[axis] = place(box.starts[axis] + box.counts[axis]) - out.starts[axis];
    if (!out.counts[axis].is(0)) parts.push_back(part_of(piece, out));
    begin = end;
  }
  if (parts.empty()) return {};
  const std::vector<size_t> kept = box.kept();
  const auto place = std::find(kept.begin(), kept.end(), axis) - kept.begin();
  return specify_lengths(join(place, parts), value.dims());
}

// join(0, a, b)[i] -> a[i], where the part lies in one value.
Expr part_of_join(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !is_op(inner, join_op())) return {};
  const size_t axis = static_cast<size_t>(inner.node().props.get<int64_t>("axis"));
  const Dim first = box->starts[axis], last = first + (box->counts[axis] - 1) * Dim(box->steps[axis]);
  const Dim &low = box->steps[axis] > 0 ? first : last, &high = box->steps[axis] > 0 ? last : first;
  Dim start = 0;
  for (const Expr& piece : inner.node().inputs) {
    const Dim end = start + piece.dims()[axis];
    if (low.is_at_least(start) && end.is_at_least(high + 1)) {
      Box out = *box;
      out.inside = out.to_end = {};
      out.starts[axis] = first - start;
      return part_of(piece, out);
    }
    start = end;
  }
  return join_of_parts(value, *box, axis, context);
}

// dot(a, b)[i] -> dot(a[i], b)
Expr part_of_dot(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !is_op(inner, dot_op()) || !context.read_once(inner) || is_whole(*box, inner.dims())) return {};
  std::vector<Expr> inputs = inner.node().inputs;
  size_t axis = 0;  // of the product
  for (size_t i : {0, 1}) {
    if (inputs[i].rank() != 2) continue;
    Box out = whole_box(inputs[i]);
    out.starts[i] = box->starts[axis];
    out.counts[i] = box->counts[axis];
    out.steps[i] = box->steps[axis];
    if (box->has(box->dropped, axis++)) out.dropped.push_back(static_cast<int64_t>(i));
    inputs[i] = part_of(inputs[i], out);
  }
  return dot(inputs[0], inputs[1]);
}

// sum(x, 1)[i] -> sum(x[i], 0)
Expr part_of_reduction(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  if (!box || !reduction_of(*inner.node().op) || !context.read_once(inner)) return {};
  if (is_whole(*box, inner.dims())) return {};
  const Expr& x = input_of(inner, 0);
  const Ints& axes = inner.node().props.get<Ints>("axes");
  const bool keeps = inner.node().props.get<bool>("keepdims");
  Box out = whole_box(x);
  Ints reduced;
  size_t axis = 0, place = 0;  // of the reduction's result, of the part of x
  for (size_t k = 0; k < x.rank(); ++k) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) != axes.end()) {
      reduced.push_back(static_cast<int64_t>(place++));
      if (!keeps) continue;
      if (box->has(box->dropped, axis) || !box->counts[axis].is(1)) return {};
      ++axis;
      continue;
    }
    out.starts[k] = box->starts[axis];
    out.counts[k] = box->counts[axis];
    out.steps[k] = box->steps[axis];
    if (box->has(box->dropped, axis))
      out.dropped.push_back(static_cast<int64_t>(k));
    else
      ++place;
    ++axis;
  }
  Props props = inner.node().props;
  props.set("axes", reduced);
  return apply(*inner.node().op, {part_of(x, out)}, std::move(props));
}

// softmax(x, 1)[i] -> softmax(x[i], 0), where whole slices are read.
Expr part_of_softmax(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  const std::optional<Box> box = box_of(value);
  const bool fits = is_op(inner, softmax_op()) || is_op(inner, log_softmax_op());
  if (!box || !fits || !context.read_once(inner) || is_whole(*box, inner.dims())) return {};
  const size_t axis = static_cast<size_t>(inner.node().props.get<int64_t>("axis"));
  const bool whole = box->starts[axis].is(0) && box->counts[axis] == inner.dims()[axis] && box->steps[axis] == 1;
  if (!whole || box->has(box->dropped, axis)) return {};
  Box out = *box;
  out.inside = out.to_end = {};
  const std::vector<size_t> kept = out.kept();
  const auto place = std::find(kept.begin(), kept.end(), axis) - kept.begin();
  return apply(*inner.node().op, {part_of(input_of(inner, 0), out)}, {{"axis", static_cast<int64_t>(place)}});
}

// take(x, 3) -> x[3]: a view.
Expr take_of_number(const Expr& value, RuleContext&) {
  const Expr &x = input_of(value, 0), &index = input_of(value, 1);
  const size_t axis = static_cast<size_t>(value.node().props.get<int64_t>("axis"));
  const Tensor* number = index.rank() == 0 ? constant_value(index) : nullptr;
  const Dim& length = x.dims()[axis];
  if (!number || !length.is_known()) return {};
  const int64_t at = number->as_int() < 0 ? number->as_int() + length.value() : number->as_int();
  if (at < 0 || at >= length.value()) return {};  // an error that the call reports
  Box out = whole_box(x);
  out.starts[axis] = at;
  out.counts[axis] = 1;
  out.dropped = {static_cast<int64_t>(axis)};
  return part_of(x, out);
}

// pick_rows(exp(x), labels) -> exp(pick_rows(x, labels)): once for each row.
Expr pick_of_elementwise(const Expr& value, RuleContext& context) {
  const Expr &inner = input_of(value, 0), &labels = input_of(value, 1);
  if (!inner.node().op->scalar || inner.node().types.size() != 1 || !context.read_once(inner)) return {};
  std::vector<Expr> inputs;
  bool checked = false;  // are the labels still compared with the number of classes?
  for (const Expr& operand : inner.node().inputs) {
    if (operand.dims() == inner.dims()) {
      inputs.push_back(pick_rows(operand, labels, negative_of(value.node())));
      checked = true;
    } else if (operand.rank() == 2 && operand.dims()[1].is(1) && operand.dims()[0] == inner.dims()[0]) {
      inputs.push_back(dimshuffle(operand, {0}));
    } else if (operand.rank() == 0) {
      inputs.push_back(operand);
    } else {
      return {};
    }
  }
  return checked ? Expr(make_node(*inner.node().op, std::move(inputs), inner.node().props)) : Expr();
}

Type f64(Dims dims) {
  return {.dtype = DType::kFloat64, .dims = std::move(dims)};
}
Type f32(Dims dims) {
  return {.dtype = DType::kFloat32, .dims = std::move(dims)};
}
Type i64(Dims dims) {
  return {.dtype = DType::kInt64, .dims = std::move(dims)};
}
Expr part(const Expr& x, const std::vector<Index>& indices) {
  return subtensor(x, indices);
}

// A rule for parts of some op, which holds for all dtypes.
Rule about_parts(const char* name, RuleFunction rewrite, Safety safety, std::vector<RuleExample> examples) {
  return {.name = name,
          .safety = safety,
          .kinds = kAll,
          .rewrite = std::move(rewrite),
          .roots = {&subtensor_op()},
          .examples = std::move(examples)};
}

}  // namespace

const std::vector<Rule>& part_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating;
  static const std::vector<Rule> rules{
      about_parts("whole_part", whole_part, kExact,
                  {{{f64({3, 4})},
                    [](In in) {
                      return part(in[0], {Slice{0, 3}, Slice{.stop = 9}});
                    }},
                   {{f32({3, 1})},
                    [](In in) {
                      return part(in[0], {all(), 0});
                    }},
                   {{i64({0, 4})}, [](In in) { return part(in[0], {Slice{.start = 0}}); }}}),
      {.name = "part_inside",
       .kinds = kAll,
       .rewrite = part_inside,
       .roots = {&subtensor_op(), &inc_subtensor_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return part(in[0], {-1}); }},
                    {{f32({3, 4}), f32({4})}, [](In in) { return inc_subtensor(part(in[0], {1}), in[1]); }}}},
      about_parts("part_of_part", part_of_part, kExact,
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
      about_parts("part_of_elementwise", part_of_elementwise, kExact,
                  {{{f64({5, 4}), f64({4})}, [](In in) { return part(exp(in[0]) - in[1], {2}); }},
                   {{f32({5, 4}), f32({5, 1})},
                    [](In in) {
                      return part(in[0] * in[1], {Slice{1, 3}, 2});
                    }},
                   {{f64({5}), f64({})}, [](In in) { return part(maximum(in[0], in[1]), {Slice{.step = -1}}); }}}),
      about_parts("part_of_repeated", part_of_repeated, kExact,
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
      about_parts("part_of_shuffled", part_of_shuffled, kExact,
                  {{{f64({3, 4})}, [](In in) { return part(transpose(in[0]), {1}); }},
                   {{f32({3, 4})},
                    [](In in) {
                      return part(dimshuffle(in[0], {1, -1, 0}), {Slice{1, 3}, 0});
                    }},
                   {{i64({3, 1, 4})},
                    [](In in) {
                      return part(transpose(squeeze(in[0])), {all(), Slice{0, 2}});
                    }}}),
      about_parts("part_of_join", part_of_join, kExact,
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
      about_parts("part_of_dot", part_of_dot, kReassociating,
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
      about_parts("part_of_reduction", part_of_reduction, kReassociating,
                  {{{f64({3, 4})}, [](In in) { return part(sum(in[0], 1), {1}); }},
                   {{f32({3, 4, 2})},
                    [](In in) {
                      return part(max(in[0], {1}, true), {2, all(), Slice{0, 1}});
                    }},
                   {{i64({3, 4, 2})},
                    [](In in) {
                      return part(prod(in[0], 0), {Slice{1, 3}, 1});
                    }}}),
      about_parts("part_of_softmax", part_of_softmax, kReassociating,
                  {{{f64({3, 4})}, [](In in) { return part(softmax(in[0]), {1}); }},
                   {{f32({3, 4})},
                    [](In in) {
                      return part(log_softmax(in[0], 0), {all(), Slice{1, 3}});
                    }}}),
      {.name = "take_of_number",
       .kinds = kAll,
       .rewrite = take_of_number,
       .roots = {&take_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return take(in[0], 1); }},
                    {{i64({3, 4})}, [](In in) { return take(in[0], -1, 1); }}}},
      {.name = "pick_of_elementwise",
       .kinds = kAll,
       .rewrite = pick_of_elementwise,
       .roots = {&pick_rows_op()},
       .examples = {{{f64({3, 5}), i64({3})}, [](In in) { return pick_rows(exp(in[0]), in[1]); }, -5},
                    {{f32({3, 5}), i64({3}), f32({3, 1})},
                     [](In in) { return pick_rows(2 * (in[0] - in[2]), in[1]); }}}},
  };
  return rules;
}

}  // namespace thtrain
