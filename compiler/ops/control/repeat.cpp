#include "compiler/ops/control/repeat.h"

#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

int64_t count_of(const Node& node) {
  return node.props.get<int64_t>("count");
}
size_t states_of(const Node& node) {
  return static_cast<size_t>(node.props.get<int64_t>("states"));
}

std::vector<Expr> outputs_of(const std::shared_ptr<const Node>& node) {
  std::vector<Expr> out;
  for (size_t i = 0; i < node->types.size(); ++i) out.emplace_back(node, i);
  return out;
}

std::vector<Expr> repeat_graph(GraphPtr body, int64_t count, size_t states, std::vector<Expr> inputs) {
  Props props{{"count", count}, {"states", static_cast<int64_t>(states)}};
  return outputs_of(make_node(repeat_op(), std::move(inputs), std::move(props), {std::move(body)}));
}

std::vector<Type> infer(const TypeArgs& a) {
  const Graph& body = *a.bodies[0];
  size_t states = static_cast<size_t>(a.props.get<int64_t>("states"));
  const bool token = carries_token(body);
  a.require(a.props.get<int64_t>("count") >= 0, "the number of turns is negative");
  a.require(body.inputs.size() == a.inputs.size(), "the body takes another number of values");
  a.require(body.outputs.size() == states + token, "the body must give each state its next value");
  std::vector<Type> out;
  for (size_t i = 0; i < states; ++i) {
    a.require(body.outputs[i].type() == a.type(i), str("state ", i, " changes its type"),
              str(readable(a.type(i).text()), ", the body gives ", readable(body.outputs[i].type().text())));
    out.push_back(a.type(i));
  }
  if (token) out.push_back(token_type());
  return out;
}

// The last values of the states, and of the token where there is one.
std::vector<Tensor> last_of(const Node& node, const std::vector<Tensor>& values) {
  std::vector<Tensor> out(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(states_of(node)));
  if (carries_token(*node.bodies[0])) out.push_back(values.back());
  return out;
}

std::vector<Tensor> reference(const ReferenceArgs& a) {
  std::vector<Tensor> values(a.inputs.begin(), a.inputs.end());
  for (int64_t turn = 0; turn < count_of(a.node); ++turn) {
    std::vector<Tensor> next = a.run_body(*a.node.bodies[0], values);
    for (size_t i = 0; i < states_of(a.node); ++i) values[i] = next[i].copy();
  }
  return last_of(a.node, values);
}

// The errors of a turn are those that the next one begins with.
std::vector<Tensor> error(const ErrorArgs& a) {
  std::vector<Tensor> values(a.inputs.begin(), a.inputs.end()), errors(a.errors.begin(), a.errors.end());
  for (int64_t turn = 0; turn < count_of(a.node); ++turn) {
    auto [next, moved] = a.run_body(*a.node.bodies[0], values, errors);
    for (size_t i = 0; i < states_of(a.node); ++i) {
      values[i] = next[i].copy();
      errors[i] = moved[i].copy();
    }
  }
  return last_of(a.node, errors);
}

// The turns one after the other, as expressions, each differentiated in its turn: count copies of the body. A loop that
// stores its states is scan's; this op proves that bodies pass through every stage.
std::vector<Expr> gradient(const GradientArgs& a) {
  const auto silent = std::make_shared<const Graph>(without_effects(*a.node.bodies[0]));  // turns that run again
  const Graph& body = *silent;
  size_t states = states_of(a.node);
  std::vector<Expr> captures(a.node.inputs.begin() + static_cast<std::ptrdiff_t>(states), a.node.inputs.end());
  // The state before each turn: a shorter repeat of the same body.
  auto before = [&](int64_t turn) {
    return turn == 0
               ? std::vector<Expr>(a.node.inputs.begin(), a.node.inputs.begin() + static_cast<std::ptrdiff_t>(states))
               : repeat_graph(silent, turn, states, a.node.inputs);
  };
  std::vector<Expr> cotangents(a.cotangents.begin(), a.cotangents.end());
  std::vector<Expr> of_captures(captures.size());
  for (int64_t turn = count_of(a.node) - 1; turn >= 0; --turn) {
    std::vector<Expr> values = before(turn);
    values.insert(values.end(), captures.begin(), captures.end());
    std::vector<std::pair<Expr, Expr>> replacements;
    for (size_t i = 0; i < values.size(); ++i) replacements.emplace_back(body.inputs[i], values[i]);
    // The derivative is taken inside the body, on its own inputs, then moved to the outer values.
    std::vector<Expr> wrt = body.inputs;
    std::vector<Expr> inner = a.differentiate(body.outputs, cotangents, wrt);
    std::vector<Expr> present;
    for (const Expr& e : inner)
      if (e.has_value()) present.push_back(e);
    std::vector<Expr> moved = substitute(present, replacements);
    size_t next = 0;
    std::vector<Expr> results(inner.size());
    for (size_t i = 0; i < inner.size(); ++i)
      if (inner[i].has_value()) results[i] = moved[next++];
    for (size_t i = 0; i < states; ++i) cotangents[i] = results[i];
    for (size_t i = 0; i < captures.size(); ++i)
      if (const Expr& d = results[states + i]; d.has_value())
        of_captures[i] = of_captures[i].has_value() ? add(of_captures[i], d) : d;
  }
  std::vector<Expr> out = cotangents;
  out.insert(out.end(), of_captures.begin(), of_captures.end());
  return out;
}

void lower(kernel::RegionBuilder& b) {
  size_t states = states_of(b.node());
  std::vector<kernel::RegionValue> values;
  for (size_t i = 0; i < states; ++i) {
    values.push_back(b.output(i));
    b.copy(b.input(i), values[i]);
  }
  for (size_t i = states; i < b.node().inputs.size(); ++i) values.push_back(b.input(i));
  b.loop(count_of(b.node()), [&] {
    std::vector<kernel::RegionValue> next = b.inline_body(*b.node().bodies[0], values);
    for (size_t i = 0; i < states; ++i) b.copy(next[i], values[i]);
  });
}

}  // namespace

const Op& repeat_op() {
  static const Op op{
      .name = "repeat",
      .doc =
          "state = body(state, captures), `count` times. Inputs: the states, then the captures; outputs: the last "
          "states.",
      .infer = infer,
      .reference = reference,
      .error = error,
      .gradient = gradient,
      .lower_region = lower,
      .foldable = false,
      .cases =
          [] {
            Type vector{.dtype = DType::kFloat64, .dims = {3}};
            auto build = [](int64_t count) {
              return [count](const std::vector<Expr>& x) {
                return repeat(count, {x[0], x[1]}, {x[2]}, [](const std::vector<Expr>& s, const std::vector<Expr>& c) {
                  return std::vector<Expr>{tanh(s[1] * c[0]), s[0] + 0.5 * s[1]};
                });
              };
            };
            return std::vector<OpCase>{
                {.name = "three", .inputs = {vector, vector, vector}, .build = build(3), .bound = 64},
                {.name = "one", .inputs = {vector, vector, vector}, .build = build(1), .bound = 64},
                {.name = "none", .inputs = {vector, vector, vector}, .build = build(0), .bound = 64},
            };
          },
  };
  return op;
}

std::vector<Expr> repeat(
    int64_t count, const std::vector<Expr>& initial, const std::vector<Expr>& captures,
    const std::function<std::vector<Expr>(const std::vector<Expr>&, const std::vector<Expr>&)>& body) {
  auto graph = std::make_shared<Graph>();
  std::vector<Expr> state, outside;
  for (const Expr& e : initial) state.push_back(make_input(e.type(), "state"));
  for (const Expr& e : captures) outside.push_back(make_input(e.type(), e.name().empty() ? "capture" : e.name()));
  graph->inputs = state;
  graph->inputs.insert(graph->inputs.end(), outside.begin(), outside.end());
  {
    EffectScope scope;
    graph->outputs = body(state, outside);
    graph->effects = scope.effects();
  }
  std::vector<Expr> inputs = initial;
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return repeat_graph(std::move(graph), count, initial.size(), std::move(inputs));
}

}  // namespace thtrain
