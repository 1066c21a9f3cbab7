// Parts that are written: what was written is read back, and what is written twice is written once.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/slices.h"

namespace thtrain {
namespace {

bool is_set(const Expr& written) {
  return written.node().props.get<bool>("set");
}

// x with that part replaced by y, or increased by it.
Expr written(const Expr& x, const Expr& y, StridedSlice slice, bool set) {
  slice.inside = {};
  Props props;
  slice.add_to(props);
  props.set("set", set);
  return apply(inc_subtensor_op(), {x, y}, std::move(props));
}

// A part without elements, of x with that part written -> x
Expr write_of_nothing(const Expr& value, RuleContext&) {
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || std::none_of(slice->counts.begin(), slice->counts.end(), [](const Dim& d) { return d.is(0); }))
    return {};
  return input_of(value, 0);
}

// x with x[i] set to x[i] -> x
Expr set_of_own_slice(const Expr& value, RuleContext&) {
  const std::optional<StridedSlice> slice = strided_slice_of(value), read = strided_slice_of(input_of(value, 1));
  if (!slice || !read || !is_set(value) || !is_op(input_of(value, 1), subtensor_op())) return {};
  const bool own = input_of(input_of(value, 1), 0).same(input_of(value, 0)) && are_equal(*slice, *read);
  return own ? input_of(value, 0) : Expr();
}

// x with x[:] set to y -> y; increased by y -> x + y
Expr write_of_whole(const Expr& value, RuleContext&) {
  const Expr &x = input_of(value, 0), &y = input_of(value, 1);
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  if (!slice || !is_whole(*slice, x.dims())) return {};
  Ints order;
  int64_t next = 0;
  for (size_t axis = 0; axis < x.rank(); ++axis) order.push_back(slice->has(slice->dropped, axis) ? -1 : next++);
  const Expr all = dimshuffle(y, order);
  return is_set(value) ? all : x + all;
}

// What is increased by zeros, or set to zeros where it is zero.
Expr increment_by_zeros(const Expr& value, RuleContext&) {
  const Expr &x = input_of(value, 0), &y = input_of(value, 1);
  if (number_of(y) != 0.0 || (is_set(value) && number_of(x) != 0.0)) return {};
  return x;
}

// The second of two writes of one part.
Expr written_again(const Expr& value, RuleContext& context, bool set) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, inc_subtensor_op()) || is_set(value) != set || !context.has_one_use(inner)) return {};
  const std::optional<StridedSlice> slice = strided_slice_of(value), first = strided_slice_of(inner);
  if (!slice || !first || !are_equal(*slice, *first)) return {};
  const Expr &x = input_of(inner, 0), &y = input_of(value, 1);
  return set ? written(x, y, *slice, true) : written(x, input_of(inner, 1) + y, *slice, is_set(inner));
}

// (x with x[i] set to y)[i] -> y, and another part of it -> x[k]
Expr slice_of_written(const Expr& value, RuleContext& context) {
  const Expr& inner = input_of(value, 0);
  if (!is_op(inner, inc_subtensor_op())) return {};
  const std::optional<StridedSlice> slice = strided_slice_of(value), wrote = strided_slice_of(inner);
  if (!slice || !wrote) return {};
  const Expr &x = input_of(inner, 0), &y = input_of(inner, 1);
  if (are_disjoint(*slice, *wrote)) return slice_of(x, *slice);
  if (!are_equal(*slice, *wrote)) return {};
  if (is_set(inner)) return y;
  return context.has_one_use(inner) ? slice_of(x, *slice) + y : Expr();
}

// A part of x that is written: where it begins along one axis, of which the part has whole slices of x.
struct WrittenSlices {
  size_t axis;
  Dim begin, end;
};

// Nothing where the part is no such slices.
std::optional<WrittenSlices> written_slices(const Expr& value) {
  const std::optional<StridedSlice> slice = strided_slice_of(value);
  const Dims& dims = value.dims();
  if (!slice) return {};
  std::optional<WrittenSlices> out;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (slice->starts[axis].is(0) && slice->counts[axis] == dims[axis] && slice->steps[axis] == 1) continue;
    if (out || slice->steps[axis] != 1) return {};
    out = {axis, slice->starts[axis], slice->starts[axis] + slice->counts[axis]};
  }
  return out;
}

// zeros with x[:, 0:2] and x[:, 2:5] increased by y and z -> join(1, y, z); with all parts set, whatever x is. Parts
// that fill the axis lie inside x.
Expr writes_of_all_parts(const Expr& value, bool set) {
  constexpr size_t kMostParts = 64;
  std::vector<std::pair<WrittenSlices, Expr>> parts;
  Expr base = value;
  while (is_op(base, inc_subtensor_op()) && is_set(base) == set && parts.size() < kMostParts) {
    const std::optional<WrittenSlices> slices = written_slices(base);
    if (!slices || (!parts.empty() && slices->axis != parts[0].first.axis)) return {};
    Ints order;
    int64_t next = 0;
    const std::optional<StridedSlice> slice = strided_slice_of(base);
    for (size_t axis = 0; axis < value.rank(); ++axis) order.push_back(slice->has(slice->dropped, axis) ? -1 : next++);
    Dims dims = value.dims();
    dims[slices->axis] = slices->end - slices->begin;
    parts.emplace_back(*slices, broadcast_to(dimshuffle(input_of(base, 1), order), dims));
    base = input_of(base, 0);
  }
  if (parts.size() < 2 || (!set && number_of(base) != 0.0)) return {};
  std::vector<Operand> joined;
  Dim end = 0;
  while (joined.size() < parts.size()) {
    auto next = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first.begin == end; });
    if (next == parts.end() || next->first.end == end) return {};
    joined.push_back(next->second);
    end = next->first.end;
  }
  const size_t axis = parts[0].first.axis;
  return end == value.dims()[axis] ? join(static_cast<int64_t>(axis), joined) : Expr();
}

Expr set(const Expr& x, const std::vector<Index>& part, const Expr& y) {
  return set_subtensor(subtensor(x, part), y);
}
Expr inc(const Expr& x, const std::vector<Index>& part, const Expr& y) {
  return inc_subtensor(subtensor(x, part), y);
}

}  // namespace

const std::vector<Rule>& write_rules() {
  using In = const std::vector<Expr>&;
  constexpr Safety kExact = Safety::kExact, kReassociating = Safety::kReassociating;
  static const std::vector<Rule> rules{
      rule_about(inc_subtensor_op(), "write_of_nothing", write_of_nothing, kExact,
                 {{{f64({4, 3}), f64({0, 3})},
                   [](In in) {
                     return set(in[0], {Slice{2, 2}}, in[1]);
                   }},
                  {{f32({0, 3}), f32({0})},
                   [](In in) {
                     return inc(in[0], {all(), 1}, in[1]);
                   }}}),
      rule_about(inc_subtensor_op(), "set_of_own_slice", set_of_own_slice, kExact,
                 {{{f64({4, 3})}, [](In in) { return set(in[0], {1}, subtensor(in[0], {1})); }},
                  {{i64({4})},
                   [](In in) {
                     return set(in[0], {Slice{1, 3}}, subtensor(in[0], {Slice{1, 3}}));
                   }}}),
      rule_about(inc_subtensor_op(), "write_of_whole", write_of_whole, kExact,
                 {{{f64({4, 3}), f64({3})}, [](In in) { return set(in[0], {all()}, in[1]); }},
                  {{f32({1, 3}), f32({3})}, [](In in) { return inc(in[0], {0}, in[1]); }},
                  {{i64({4}), i64({4})},
                   [](In in) {
                     return inc(in[0], {Slice{0, 4}}, in[1]);
                   }}}),
      rule_about(inc_subtensor_op(), "increment_by_zeros", increment_by_zeros, kReassociating,
                 {{{f64({4, 3})}, [](In in) { return inc(in[0], {1}, Operand(0.0).expr()); }},
                  {{},
                   [](In) {
                     return set(zeros({4, 3}), {1}, zeros({3}));
                   }}}),
      rule_about(inc_subtensor_op(), "set_again",
                 [](const Expr& value, RuleContext& context) { return written_again(value, context, true); }, kExact,
                 {{{f64({4, 3}), f64({3}), f64({})}, [](In in) { return set(set(in[0], {1}, in[1]), {1}, in[2]); }},
                  {{f32({4}), f32({2})},
                   [](In in) { return set(inc(in[0], {Slice{.step = 2}}, in[1]), {Slice{.step = 2}}, in[1]); }}}),
      rule_about(inc_subtensor_op(), "increment_again",
                 [](const Expr& value, RuleContext& context) { return written_again(value, context, false); },
                 kReassociating,
                 {{{f64({4, 3}), f64({3}), f64({})}, [](In in) { return inc(inc(in[0], {1}, in[1]), {1}, in[2]); }},
                  {{f32({4}), f32({2})},
                   [](In in) {
                     return inc(set(in[0], {Slice{1, 3}}, in[1]), {Slice{1, 3}}, in[1]);
                   }}}),
      rule_about(inc_subtensor_op(), "increments_of_all_parts",
                 [](const Expr& value, RuleContext&) { return writes_of_all_parts(value, false); }, kReassociating,
                 {{{f64({3, 2}), f64({3, 4})},
                   [](In in) {
                     const Expr first = inc(zeros({3, 6}), {all(), Slice{0, 2}}, in[0]);
                     return inc(first, {all(), Slice{.start = 2}}, in[1]);
                   }},
                  {{f32({2}), f32({})},
                   [](In in) {
                     return inc(inc(zeros({2, 2}, DType::kFloat32), {1}, in[0]), {0}, in[1]);
                   }}}),
      rule_about(inc_subtensor_op(), "sets_of_all_parts",
                 [](const Expr& value, RuleContext&) { return writes_of_all_parts(value, true); }, kExact,
                 {{{f64({3, 6}), f64({3, 2}), f64({3, 4})},
                   [](In in) {
                     return set(set(in[0], {all(), Slice{0, 2}}, in[1]), {all(), Slice{.start = 2}}, in[2]);
                   }},
                  {{i64({5}), i64({}), i64({4})},
                   [](In in) { return set(set(in[0], {0}, in[1]), {Slice{.start = 1}}, in[2]); }}}),
      {.name = "slice_of_written",
       .kinds = kAll,
       .rewrite = slice_of_written,
       .roots = {&subtensor_op()},
       .examples = {{{f64({4, 3}), f64({3})}, [](In in) { return subtensor(set(in[0], {1}, in[1]), {1}); }},
                    {{f32({4, 3}), f32({3})}, [](In in) { return subtensor(inc(in[0], {1}, in[1]), {1}); }},
                    {{i64({4, 3}), i64({3})},
                     [](In in) { return subtensor(inc(in[0], {1}, in[1]), {Slice{.start = 2}}); }}}},
  };
  return rules;
}

}  // namespace thtrain
