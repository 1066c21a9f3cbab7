#include "compiler/ops/control/repeat.h"

#include <cstring>
#include <limits>

#include "compiler/ir/effects.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/repeat_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

RepeatParts::RepeatParts(const Node& node)
    : count(node.props.get<int64_t>("count")),
      states(static_cast<size_t>(node.props.get<int64_t>("states"))),
      sequences(static_cast<size_t>(node.props.get<int64_t>("sequences"))),
      captures(node.inputs.size() - states - sequences - carries_token(*node.bodies[0])),
      elements(node.types.size() - 2 * states - carries_token(*node.bodies[0])),
      until(node.props.get<bool>("until")),
      token(carries_token(*node.bodies[0])),
      body(*node.bodies[0]) {}

namespace {

Type with_axis(const Dim& length, Type type) {
  type.dims.insert(type.dims.begin(), length);
  return type;
}

std::vector<Type> infer(const TypeArgs& a) {
  const Graph& body = *a.bodies[0];
  const int64_t count = a.props.get<int64_t>("count");
  const size_t states = static_cast<size_t>(a.props.get<int64_t>("states"));
  const size_t sequences = static_cast<size_t>(a.props.get<int64_t>("sequences"));
  const bool until = a.props.get<bool>("until"), token = carries_token(body);
  a.require(count >= (until ? 1 : 0), until ? "the limit of turns is less than 1" : "the number of turns is negative",
            until ? "at least 1" : "at least 0");
  a.require(count < std::numeric_limits<int64_t>::max(), "the number of turns is too large", "less than 2^63 - 1");
  a.require(body.inputs.size() == a.inputs.size() && states + sequences <= a.inputs.size(),
            "the body takes another number of values");
  a.require(body.outputs.size() >= states + until + token, "the body must give each state its next value");
  for (size_t k = states; k < states + sequences; ++k) {
    a.require(a.type(k).rank() > 0, "a sequence is a scalar");
    a.require_equal(a.type(k).dims[0], count, "the turns and the length of a sequence differ");
  }
  std::vector<Type> out;
  for (size_t i = 0; i < states; ++i) {
    a.require(body.outputs[i].type() == a.type(i),
              str("state ", i, " changes its type: the body gives ", readable(body.outputs[i].type().text())),
              readable(a.type(i).text()));
    out.push_back(a.type(i));
  }
  for (size_t i = 0; i < states; ++i) out.push_back(with_axis(Dim(count) + Dim(1), a.type(i)));
  const size_t end = body.outputs.size() - until - token;
  for (size_t k = states; k < end; ++k) out.push_back(with_axis(count, body.outputs[k].type()));
  if (until) {
    const Type& done = body.outputs[end].type();
    a.require(done.is_scalar() && is_bool(done.dtype),
              str("whether the loop ends is no bool scalar, but ", readable(done.text())), "bool[]");
    a.require(states > 0 && a.type(states - 1).is_scalar() && a.type(states - 1).dtype == DType::kInt64,
              "the last state does not count the turns");
  }
  if (token) out.push_back(token_type());
  return out;
}

// x[index] = value, along the first axis. Nothing where nobody reads x: then it has no elements.
void put(Tensor& x, int64_t index, const Tensor& value) {
  if (x.dim(0) == 0) return;
  const Tensor dense = value.contiguous();
  if (dense.bytes() > 0)
    std::memcpy(static_cast<char*>(x.raw()) + static_cast<size_t>(index) * dense.bytes(), dense.raw(), dense.bytes());
}
Tensor get(const Tensor& x, int64_t index) {
  Shape shape(x.shape().begin() + 1, x.shape().end());
  Tensor out = Tensor::zeros(x.dtype(), shape);
  if (out.bytes() > 0)
    std::memcpy(out.raw(), static_cast<const char*>(x.raw()) + static_cast<size_t>(index) * out.bytes(), out.bytes());
  return out;
}

// The turns of the reference, on values (or on bounds of errors beside them).
struct Turns {
  const RepeatParts& parts;
  std::vector<Tensor> state;  // and then what the body gives
  std::vector<Tensor> outputs;

  Turns(const RepeatParts& parts, std::span<const Tensor> inputs, std::vector<Tensor> zeros)
      : parts(parts),
        state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(parts.states)),
        outputs(std::move(zeros)) {
    for (size_t i = 0; i < parts.states; ++i) put(outputs[parts.history(i)], 0, state[i]);
  }
  std::vector<Tensor> body_inputs(int64_t turn, std::span<const Tensor> inputs) const {
    std::vector<Tensor> out = state;
    for (size_t k = 0; k < parts.sequences; ++k) out.push_back(get(inputs[parts.sequence(k)], turn));
    for (size_t k = 0; k < parts.captures; ++k) out.push_back(inputs[parts.capture(k)]);
    if (parts.token) out.push_back(inputs.back());
    return out;
  }
  void take(int64_t turn, const std::vector<Tensor>& next) {
    for (size_t i = 0; i < parts.states; ++i) {
      state[i] = next[i].copy();
      put(outputs[parts.history(i)], turn + 1, next[i]);
    }
    for (size_t k = 0; k < parts.elements; ++k) put(outputs[parts.element(k)], turn, next[parts.body_element(k)]);
  }
  std::vector<Tensor> finish() {
    for (size_t i = 0; i < parts.states; ++i) outputs[i] = state[i].copy();
    return std::move(outputs);
  }
};

std::vector<Tensor> reference(const ReferenceArgs& a) {
  const RepeatParts parts(a.node);
  std::vector<Tensor> zeros;
  for (size_t o = 0; o < a.node.types.size(); ++o)
    zeros.push_back(a.node.types[o].kind == TypeKind::kToken ? Tensor(false) : a.make_output(o));
  Turns turns(parts, a.inputs, std::move(zeros));
  for (int64_t t = 0; t < parts.count; ++t) {
    const std::vector<Tensor> next = a.run_body(parts.body, turns.body_inputs(t, a.inputs));
    turns.take(t, next);
    if (parts.until && next[parts.body_done()].as_int() != 0) break;
  }
  return turns.finish();
}

// The errors of a turn are those that the next one begins with.
std::vector<Tensor> error(const ErrorArgs& a) {
  const RepeatParts parts(a.node);
  std::vector<Tensor> zeros, no_errors;
  for (size_t o = 0; o < a.node.types.size(); ++o) {
    zeros.push_back(Tensor::zeros(a.node.types[o].dtype, a.outputs[o].shape()));
    no_errors.push_back(a.make_error(o));
  }
  Turns values(parts, a.inputs, std::move(zeros)), errors(parts, a.errors, std::move(no_errors));
  for (int64_t t = 0; t < parts.count; ++t) {
    const auto [next, moved] = a.run_body(parts.body, values.body_inputs(t, a.inputs), errors.body_inputs(t, a.errors));
    if (parts.until && moved[parts.body_done()].as_double() != 0) return unknown_errors(a);  // one turn more or less
    values.take(t, next);
    errors.take(t, moved);
    if (parts.until && next[parts.body_done()].as_int() != 0) break;
  }
  return errors.finish();
}

// A state whose history is read lives in it: turn t reads slot t and writes slot t + 1. Any other state has one place,
// which each turn updates.
void lower(kernel::RegionBuilder& b) {
  const RepeatParts parts(b.node());
  std::vector<bool> moves(parts.states);
  std::vector<kernel::RegionValue> places;
  for (size_t i = 0; i < parts.states; ++i) {
    moves[i] = b.is_read(parts.history(i)) && !parts.until;
    if (moves[i]) {
      places.push_back(b.output(parts.history(i)));
      b.copy(b.input(i), b.slot(places[i], 0));
      b.set_output(i, b.slot(places[i], parts.count));
    } else {
      places.push_back(b.is_read(i) ? b.output(i) : b.temporary(b.node().types[i]));
      b.copy(b.input(i), places[i]);
      if (b.is_read(parts.history(i))) b.copy(b.input(i), b.slot(b.output(parts.history(i)), 0));
    }
  }
  for (size_t k = 0; k < parts.elements; ++k)
    if (b.is_read(parts.element(k))) b.output(parts.element(k));
  b.loop(parts.count, [&](const Dim& t) -> std::optional<kernel::RegionValue> {
    std::vector<kernel::RegionValue> inputs, outputs;
    Graph turn{.inputs = parts.body.inputs, .outputs = {}, .updates = {}};
    auto give = [&](size_t output, kernel::RegionValue place) {
      turn.outputs.push_back(parts.body.outputs[output]);
      outputs.push_back(place);
    };
    for (size_t i = 0; i < parts.states; ++i) {
      inputs.push_back(moves[i] ? b.slot(places[i], t) : places[i]);
      give(i, moves[i] ? b.slot(places[i], t + 1) : places[i]);
      if (!moves[i] && b.is_read(parts.history(i))) give(i, b.slot(b.output(parts.history(i)), t + 1));
    }
    for (size_t k = 0; k < parts.sequences; ++k) inputs.push_back(b.slot(b.input(parts.sequence(k)), t));
    for (size_t k = 0; k < parts.captures; ++k) inputs.push_back(b.input(parts.capture(k)));
    if (parts.token) {
      inputs.push_back(b.input(b.node().inputs.size() - 1));
      give(parts.body_token(), b.output(b.node().types.size() - 1));
    }
    for (size_t k = 0; k < parts.elements; ++k)
      if (b.is_read(parts.element(k))) give(parts.body_element(k), b.slot(b.output(parts.element(k)), t));
    std::optional<kernel::RegionValue> done;
    if (parts.until) give(parts.body_done(), *(done = b.temporary(parts.body.outputs[parts.body_done()].type())));
    b.body(turn, inputs, outputs);
    return done;
  });
}

std::vector<OpCase> cases() {
  const Type vector{.dtype = DType::kFloat64, .dims = {3}};
  auto build = [](int64_t count) {
    return [count](const std::vector<Expr>& x) {
      return repeat(count, {x[0], x[1]}, [&](const std::vector<Expr>& s) {
        return std::vector<Expr>{tanh(s[1] * x[2]), s[0] + 0.5 * s[1]};
      });
    };
  };
  auto build_until = [](const std::vector<Expr>& x) {
    const Repeated out = repeat_until(5, {x[0]}, [&](const std::vector<Expr>& s) {
      Expr next = 1.5 * s[0] + x[1];
      return Turn{{next}, gt(sum(sqr(next)), 6)};
    });
    return out.state;
  };
  return {
      {.name = "three", .inputs = {vector, vector, vector}, .build = build(3), .bound = 64},
      {.name = "one", .inputs = {vector, vector, vector}, .build = build(1), .bound = 64},
      {.name = "none", .inputs = {vector, vector, vector}, .build = build(0), .bound = 64},
      {.name = "until", .inputs = {vector, vector}, .build = build_until, .bound = 64},
  };
}

}  // namespace

const Op& repeat_op() {
  static const Op op{
      .name = "repeat",
      .doc =
          "state = body(state, element of each sequence, captures), `count` times, or until the body says so. Inputs: "
          "states, sequences [count, ...], captures; outputs: the last states, all states [count + 1, ...], elements "
          "[count, ...] of what else the body gives.",
      .infer = infer,
      .reference = reference,
      .error = error,
      .gradient = repeat_gradient,
      .jvp = repeat_jvp,
      .lower_region = lower,
      .overwrites = [](const Node& node, size_t output,
                       size_t input) { return output == input && input < RepeatParts(node).states; },
      .foldable = false,
      .cases = cases,
  };
  return op;
}

std::vector<Expr> make_repeat(const RepeatShape& shape, GraphPtr body, std::vector<Expr> inputs,
                              const std::source_location& where) {
  Props props{{"count", shape.count},
              {"states", static_cast<int64_t>(shape.states)},
              {"sequences", static_cast<int64_t>(shape.sequences)},
              {"until", shape.until}};
  const std::shared_ptr<const Node> node =
      make_node(repeat_op(), std::move(inputs), std::move(props), {std::move(body)}, where);
  std::vector<Expr> out;
  for (size_t o = 0; o < node->types.size(); ++o) out.emplace_back(node, o);
  return out;
}

// What the body gave for the states, under their lengths. UserError unless there is one value for each.
static std::vector<Expr> next_states(std::string_view builder, const std::vector<Expr>& given,
                                     const std::vector<Expr>& initial, const std::source_location& where) {
  if (given.size() != initial.size())
    fail_build(where,
               str(builder, ": the body gives ", given.size(), given.size() == 1 ? " state" : " states",
                   ", the loop has ", initial.size()),
               "the next value of each state, in their order", {});
  std::vector<Expr> out;
  for (size_t i = 0; i < given.size(); ++i)
    out.push_back(typed_as(given[i], initial[i].type(), str(builder, ": state ", i), where));
  return out;
}

static std::vector<Expr> states_like(const std::vector<Expr>& initial, const std::source_location& where) {
  std::vector<Expr> out;
  for (const Expr& e : initial)
    out.push_back(make_body_input(require_value(e, "repeat: an initial state", where).type(), "state", where));
  return out;
}

std::vector<Expr> repeat(int64_t count, const std::vector<Expr>& initial,
                         const std::function<std::vector<Expr>(const std::vector<Expr>& state)>& body,
                         std::source_location where) {
  const std::vector<Expr> state = states_like(initial, where);
  Body made = make_body(
      state, [&] { return next_states("repeat", body(state), initial, where); }, where);
  std::vector<Expr> inputs = initial;
  inputs.insert(inputs.end(), made.captures.begin(), made.captures.end());
  std::vector<Expr> out = make_repeat({count, initial.size()}, std::move(made.graph), std::move(inputs), where);
  out.resize(initial.size());
  return out;
}

Repeated repeat_until(int64_t limit, const std::vector<Expr>& initial,
                      const std::function<Turn(const std::vector<Expr>& state)>& body, std::source_location where) {
  std::vector<Expr> first = initial;
  first.push_back(make_constant(Tensor(int64_t{0}), where));
  const std::vector<Expr> state = states_like(first, where);
  Body made = make_body(
      state,
      [&] {
        Turn turn = body({state.begin(), state.end() - 1});
        turn.state = next_states("repeat_until", turn.state, initial, where);
        turn.state.push_back(add(state.back(), 1));
        turn.state.push_back(turn.done);
        return turn.state;
      },
      where);
  std::vector<Expr> inputs = first;
  inputs.insert(inputs.end(), made.captures.begin(), made.captures.end());
  std::vector<Expr> out = make_repeat({.count = limit, .states = first.size(), .until = true}, std::move(made.graph),
                                      std::move(inputs), where);
  return {{out.begin(), out.begin() + static_cast<std::ptrdiff_t>(initial.size())}, out[initial.size()]};
}

}  // namespace thtrain
