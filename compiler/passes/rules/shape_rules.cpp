// Chains of views become one, and what is repeated is computed once. All exact: the same operations on the same
// elements.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rules/examples.h"
#include "compiler/passes/rules/slices.h"

namespace thtrain {
namespace {

const Ints& order_of(const Expr& shuffled) {
  return shuffled.node().props.get<Ints>("order");
}

// Only adds or drops axes of length 1.
bool keeps_order(const Expr& shuffled) {
  int64_t before = -1;
  for (int64_t axis : order_of(shuffled)) {
    if (axis >= 0 && axis < before) return false;
    before = std::max(before, axis);
  }
  return true;
}

// dimshuffle(dimshuffle(x, [1, 0]), [1, 0]) -> x
Expr dimshuffle_chain(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  Ints order = order_of(value);
  if (is_op(inner, dimshuffle_op())) {
    for (int64_t& axis : order)
      if (axis >= 0) axis = order_of(inner)[static_cast<size_t>(axis)];
    return dimshuffle(input_of(inner, 0), order);
  }
  if (is_op(inner, reshape_op()) && keeps_order(value)) return reshape(input_of(inner, 0), value.dims());
  Expr out = dimshuffle(inner, order);  // itself where nothing moves
  return out.same(inner) ? out : Expr();
}

// reshape(reshape(x, [6]), [2, 3]) -> reshape(x, [2, 3]); the elements stay in their order.
Expr reshape_chain(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (is_op(inner, reshape_op()) || (is_op(inner, dimshuffle_op()) && keeps_order(inner)))
    return reshape(input_of(inner, 0), value.dims());
  return inner.dims() == value.dims() ? inner : Expr();
}

bool is_repeated(const Expr& e) {
  return is_op(e, broadcast_to_op()) || (is_constant(e) && e.rank() > 0 && number_in(e));
}
// What it repeats; of a constant of one element, the scalar.
Expr repeated_part(const Expr& e) {
  return is_constant(e) ? make_constant(number_in(e)->reshape({})) : input_of(e, 0);
}

// broadcast_to(broadcast_to(x)) -> broadcast_to(x), also through new axes of length 1 on the left.
Expr broadcast_chain(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (inner.dims() == value.dims()) return inner;
  if (is_repeated(inner)) return broadcast_to(repeated_part(inner), value.dims());
  if (!is_op(inner, dimshuffle_op())) return {};
  const Expr& x = input_of(inner, 0);
  const Ints& order = order_of(inner);
  if (order.size() < x.rank()) return {};
  const size_t added = order.size() - x.rank();
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != (i < added ? -1 : static_cast<int64_t>(i - added))) return {};
  return broadcast_to(x, value.dims());
}

// A repeated scalar under other lengths is a repeated scalar.
Expr view_of_repeated_scalar(const Expr& value, RuleContext&) {
  const Expr& inner = input_of(value, 0);
  if (!is_repeated(inner) || repeated_part(inner).rank() != 0) return {};
  return broadcast_to(repeated_part(inner), value.dims());
}

// y + broadcast_to(x) -> y + x: the operation broadcasts by itself.
Expr repeated_operand(const Expr& value, RuleContext&) {
  const Node& node = value.node();
  if (node.types.size() != 1) return {};
  std::vector<Expr> inputs = node.inputs;
  bool found = false;
  for (Expr& input : inputs) {
    if (!is_repeated(input)) continue;
    Expr repeated = std::exchange(input, repeated_part(input));
    Dims dims;
    for (const Expr& other : inputs)
      for (size_t i = 0; i < other.rank(); ++i) {
        if (dims.size() < other.rank()) dims.insert(dims.begin(), other.rank() - dims.size(), Dim(1));
        Dim& dim = dims[dims.size() - other.rank() + i];
        if (dim.is(1)) dim = other.dims()[i];
      }
    if (dims == value.dims())
      found = true;
    else
      input = repeated;
  }
  return found ? Expr(make_node(*node.op, std::move(inputs), node.props)) : Expr();
}

// exp(broadcast_to(x)) -> broadcast_to(exp(x)): once for each element of x.
Expr repeated_result(const Expr& value, RuleContext&) {
  const Node& node = value.node();
  if (node.types.size() != 1 || std::none_of(node.inputs.begin(), node.inputs.end(), is_repeated)) return {};
  std::vector<Expr> inputs = node.inputs;
  for (Expr& input : inputs) {
    if (is_repeated(input)) input = repeated_part(input);
    // An operand of the whole length is computed with for each element anyway.
    if (input.dims() == value.dims()) return {};
  }
  return Expr(make_node(*node.op, std::move(inputs), node.props));
}

// reshape(x, {n, 1}) -> dimshuffle(x, [0, -1]): a view of any layout.
Expr reshape_by_ones(const Expr& value, RuleContext&) {
  const Expr& x = input_of(value, 0);
  Ints order;
  size_t axis = 0;
  auto skip_ones = [&] {
    while (axis < x.rank() && x.dims()[axis].is(1)) ++axis;
  };
  for (const Dim& dim : value.dims()) {
    if (dim.is(1)) {
      order.push_back(-1);
      continue;
    }
    skip_ones();
    if (axis == x.rank() || !(x.dims()[axis] == dim)) return {};
    order.push_back(static_cast<int64_t>(axis++));
  }
  skip_ones();
  return axis == x.rank() ? dimshuffle(x, order) : Expr();
}

// ---- views and loops -----------------------------------------------------------------------------------------------

// The same view of each operand of `loop`, an elementwise operation, instead of its result; empty where that is none.
Expr with_viewed_operands(const Expr& view, const Expr& loop) {
  const Node& node = loop.node();
  if (!node.op->scalar || node.types.size() != 1) return {};
  std::vector<Expr> inputs;
  for (const Expr& operand : node.inputs) {
    if (operand.rank() == 0) {
      inputs.push_back(operand);
    } else if (is_op(view, reshape_op())) {
      if (operand.dims() != loop.dims()) return {};
      inputs.push_back(reshape(operand, view.dims()));
    } else {
      const int64_t added = static_cast<int64_t>(loop.rank() - operand.rank());
      Ints order = order_of(view);
      for (int64_t& axis : order) axis = std::max<int64_t>(axis - added, -1);
      inputs.push_back(dimshuffle(operand, order));
    }
  }
  return Expr(make_node(*node.op, std::move(inputs), node.props));
}

// exp(transpose(tanh(x))) -> exp(tanh(transpose(x))): one loop. Only views of as many elements as the outer loop has.
Expr view_between_loops(const Expr& value, RuleContext& context) {
  const Node& node = value.node();
  if (node.types.size() != 1) return {};
  std::vector<Expr> inputs = node.inputs;
  bool found = false;
  for (Expr& input : inputs) {
    if ((!is_op(input, dimshuffle_op()) && !is_op(input, reshape_op())) || input.dims() != value.dims()) continue;
    const Expr& loop = input_of(input, 0);
    if (!context.has_one_use(input) || !context.has_one_use(loop)) continue;
    if (Expr moved = with_viewed_operands(input, loop); moved.has_value()) {
      input = moved;
      found = true;
    }
  }
  return found ? Expr(make_node(*node.op, std::move(inputs), node.props)) : Expr();
}

// transpose(exp(transpose(x))) -> exp(x), where the views of all operands cancel.
Expr shuffle_of_shuffled(const Expr& value, RuleContext& context) {
  const Expr& loop = input_of(value, 0);
  if (!context.has_one_use(loop)) return {};
  bool found = false;
  for (const Expr& operand : loop.node().inputs) {
    if (operand.rank() == 0) continue;
    if (!is_op(operand, dimshuffle_op()) || operand.rank() != loop.rank()) return {};
    const Expr& x = input_of(operand, 0);
    const Ints &outer = order_of(value), &inner = order_of(operand);
    if (outer.size() != x.rank()) return {};
    for (size_t k = 0; k < outer.size(); ++k)
      if (outer[k] < 0 || inner[static_cast<size_t>(outer[k])] != static_cast<int64_t>(k)) return {};
    found = true;
  }
  return found ? with_viewed_operands(value, loop) : Expr();
}

// ---- joins ---------------------------------------------------------------------------------------------------------

size_t axis_of_join(const Expr& join) {
  return static_cast<size_t>(join.node().props.get<int64_t>("axis"));
}
Expr joined_as(const Expr& like, std::vector<Expr> pieces) {
  return apply(join_op(), std::move(pieces), like.node().props);
}

// join(0, x of length 0, y) -> y
Expr join_without_empty(const Expr& value, RuleContext&) {
  std::vector<Expr> pieces;
  for (const Expr& piece : value.node().inputs)
    if (!piece.dims()[axis_of_join(value)].is(0)) pieces.push_back(piece);
  if (pieces.empty()) pieces.push_back(input_of(value, 0));
  return pieces.size() < value.node().inputs.size() ? joined_as(value, pieces) : Expr();
}

// join(0, join(0, x, y), z) -> join(0, x, y, z)
Expr join_of_joins(const Expr& value, RuleContext& context) {
  constexpr size_t kMaxPieces = 64;
  std::vector<Expr> pieces;
  for (const Expr& piece : value.node().inputs) {
    if (is_op(piece, join_op()) && axis_of_join(piece) == axis_of_join(value) && context.has_one_use(piece))
      pieces.insert(pieces.end(), piece.node().inputs.begin(), piece.node().inputs.end());
    else
      pieces.push_back(piece);
  }
  const bool found = pieces.size() > value.node().inputs.size() && pieces.size() <= kMaxPieces;
  return found ? joined_as(value, pieces) : Expr();
}

// join(0, x[0:2], x[2:5]) -> x[0:5]
Expr join_of_neighbours(const Expr& value, RuleContext&) {
  const size_t axis = axis_of_join(value);
  std::vector<Expr> pieces;
  std::optional<StridedSlice> last;
  for (const Expr& piece : value.node().inputs) {
    std::optional<StridedSlice> slice = is_op(piece, subtensor_op()) ? strided_slice_of(piece) : std::nullopt;
    if (slice && !slice->dropped.empty()) slice.reset();
    if (slice) slice->inside = {};
    if (slice && last && input_of(pieces.back(), 0).same(input_of(piece, 0))) {
      StridedSlice next = *last;  // what the piece would be if it followed
      next.starts[axis] = last->starts[axis] + last->counts[axis] * Dim(last->steps[axis]);
      next.counts[axis] = slice->counts[axis];
      if (are_equal(next, *slice)) {
        last->counts[axis] = last->counts[axis] + slice->counts[axis];
        Props props;
        last->add_to(props);
        pieces.back() = apply(subtensor_op(), {input_of(piece, 0)}, std::move(props));
        continue;
      }
    }
    pieces.push_back(piece);
    last = slice;
  }
  return pieces.size() < value.node().inputs.size() ? joined_as(value, pieces) : Expr();
}

// join of one value -> the value
Expr join_of_one(const Expr& value, RuleContext&) {
  return value.node().inputs.size() == 1 ? input_of(value, 0) : Expr();
}

}  // namespace

const std::vector<Rule>& shape_rules() {
  using In = const std::vector<Expr>&;
  static const std::vector<Rule> rules{
      {.name = "dimshuffle_chain",
       .kinds = kAll,
       .rewrite = dimshuffle_chain,
       .roots = {&dimshuffle_op()},
       .examples = {{{f64({3, 5})}, [](In in) { return transpose(transpose(in[0])); }},
                    {{f32({3, 1, 2})},
                     [](In in) {
                       return dimshuffle(dimshuffle(in[0], {2, 0}), {1, -1, 0});
                     }},
                    {{f64({3, 5})},
                     [](In in) {
                       return apply(dimshuffle_op(), {in[0]}, {{"order", Ints{0, 1}}});
                     }}}},
      {.name = "reshape_chain",
       .kinds = kAll,
       .rewrite = reshape_chain,
       .roots = {&reshape_op()},
       .examples = {{{f64({3, 4})},
                     [](In in) {
                       return reshape(flatten(in[0]), {2, 6});
                     }},
                    {{f32({3, 4})},
                     [](In in) {
                       return reshape(flatten(in[0]), {3, 4});
                     }},
                    {{f64({0, 4})},
                     [](In in) {
                       return reshape(reshape(in[0], {0}), {2, 0});
                     }}}},
      {.name = "view_of_repeated_scalar",
       .kinds = kAll,
       .rewrite = view_of_repeated_scalar,
       .roots = {&dimshuffle_op(), &reshape_op()},
       .examples = {{{f64({})},
                     [](In in) {
                       return transpose(broadcast_to(in[0], {2, 3}));
                     }},
                    {{f32({})},
                     [](In in) {
                       return reshape(broadcast_to(in[0], {2, 3}), {6});
                     }}}},
      {.name = "broadcast_chain",
       .kinds = kAll,
       .rewrite = broadcast_chain,
       .roots = {&broadcast_to_op()},
       .examples = {{{f64({3})},
                     [](In in) {
                       return broadcast_to(broadcast_to(in[0], {2, 3}), {4, 2, 3});
                     }},
                    {{f64({3})},
                     [](In in) {
                       return broadcast_to(expand_dims(in[0], {0}), {2, 3});
                     }},
                    {{},
                     [](In) {
                       return broadcast_to(make_constant(Tensor::vector({2.5})), {2, 3});
                     }},
                    {{f32({3})},
                     [](In in) {
                       return apply(broadcast_to_op(), {in[0]}, {{"dims", Dims{3}}});
                     }}}},
      {.name = "repeated_operand",
       .kinds = kAll,
       .rewrite = repeated_operand,
       .examples = {{{f64({2, 3}), f64({3})},
                     [](In in) {
                       return in[0] + broadcast_to(in[1], {2, 3});
                     }},
                    {{f64({2, 1}), f64({3})},
                     [](In in) {
                       return broadcast_to(in[0], {2, 3}) * broadcast_to(in[1], {2, 3});
                     }},
                    {{f64({3})}, [](In in) { return in[0] + make_constant(Tensor::vector({2.5})); }},
                    {{f32({2, 3}), f32({})},
                     [](In in) {
                       return lt(broadcast_to(in[1], {2, 3}), in[0]);
                     }},
                    {{f32({0, 3}), f32({})},
                     [](In in) {
                       return lt(broadcast_to(in[1], {0, 3}), in[0]);
                     }}}},
      {.name = "repeated_result",
       .kinds = kAll,
       .rewrite = repeated_result,
       .examples = {{{f64({})},
                     [](In in) {
                       return exp(broadcast_to(in[0], {2, 3}));
                     }},
                    {{f64({3})},
                     [](In in) {
                       return cast(broadcast_to(in[0], {2, 3}), DType::kFloat32);
                     }},
                    {{f64({3}), f64({1})},
                     [](In in) {
                       return broadcast_to(in[0], {2, 3}) - in[1];
                     }}}},
      {.name = "reshape_by_ones",
       .kinds = kAll,
       .rewrite = reshape_by_ones,
       .roots = {&reshape_op()},
       .examples = {{{f64({3, 4})},
                     [](In in) {
                       return reshape(in[0], {3, 1, 4, 1});
                     }},
                    {{f32({1, 3, 1})}, [](In in) { return flatten(in[0]); }},
                    {{f64({0, 1})},
                     [](In in) {
                       return reshape(in[0], {1, 0});
                     }}}},
      {.name = "view_between_loops",
       .kinds = kAll,
       .rewrite = view_between_loops,
       .examples = {{{f64({3, 4})}, [](In in) { return exp(transpose(tanh(in[0]))); }},
                    {{f32({3, 4}), f32({4})}, [](In in) { return exp(transpose(in[0] + in[1])); }},
                    {{f64({3, 4}), f64({})}, [](In in) { return in[1] * flatten(in[0] + in[1]); }},
                    {{f64({4})}, [](In in) { return -expand_dims(exp(in[0]), {1}); }}}},
      {.name = "shuffle_of_shuffled",
       .kinds = kAll,
       .rewrite = shuffle_of_shuffled,
       .roots = {&dimshuffle_op()},
       .examples = {{{f64({3, 4})}, [](In in) { return transpose(exp(transpose(in[0]))); }},
                    {{f32({2, 3, 4}), f32({2, 3, 4})},
                     [](In in) {
                       return transpose(transpose(in[0], {1, 2, 0}) + transpose(in[1], {1, 2, 0}), {2, 0, 1});
                     }}}},
      {.name = "join_without_empty",
       .kinds = kAll,
       .rewrite = join_without_empty,
       .roots = {&join_op()},
       .examples = {{{f64({2, 3}), f64({0, 3})},
                     [](In in) {
                       return join(0, {in[1], in[0], in[1]});
                     }},
                    {{f32({0}), f32({0})},
                     [](In in) {
                       return join(0, {in[0], in[1]});
                     }}}},
      {.name = "join_of_joins",
       .kinds = kAll,
       .rewrite = join_of_joins,
       .roots = {&join_op()},
       .examples = {{{f64({2, 3}), f64({2, 1})},
                     [](In in) {
                       return join(1, {join(1, {in[0], in[1]}), in[0]});
                     }}}},
      {.name = "join_of_neighbours",
       .kinds = kAll,
       .rewrite = join_of_neighbours,
       .roots = {&join_op()},
       .examples =
           {{{f64({5, 3})},
             [](In in) {
               return join(0, {subtensor(in[0], {Slice{0, 2}}), subtensor(in[0], {Slice{2, 5}})});
             }},
            {{f32({5, 3}), f32({5, 1})},
             [](In in) {
               return join(1, {in[1], subtensor(in[0], {all(), Slice{0, 1}}), subtensor(in[0], {all(), Slice{1, 3}})});
             }}}},
      {.name = "join_of_one",
       .kinds = kAll,
       .rewrite = join_of_one,
       .roots = {&join_op()},
       .examples = {{{f64({2, 3})}, [](In in) { return join(1, {in[0]}); }}}},
  };
  return rules;
}

}  // namespace thtrain
