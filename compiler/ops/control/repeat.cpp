#include "compiler/ops/control/repeat.h"

#include <utility>

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
  a.require(a.props.get<int64_t>("count") >= 0, "the number of turns is negative");
  a.require(body.inputs.size() == a.inputs.size(), "the body takes another number of values");
  a.require(body.outputs.size() == states, "the body must give each state its next value");
  std::vector<Type> out;
  for (size_t i = 0; i < states; ++i) {
    a.require(body.outputs[i].type() == a.type(i), str("state ", i, " changes its type"),
              str(readable(a.type(i).text()), ", the body gives ", readable(body.outputs[i].type().text())));
    out.push_back(a.type(i));
  }
  return out;
}

std::vector<Tensor> reference(const ReferenceArgs& a) {
  std::vector<Tensor> values(a.inputs.begin(), a.inputs.end());
  for (int64_t turn = 0; turn < count_of(a.node); ++turn) {
    std::vector<Tensor> next = a.run_body(*a.node.bodies[0], values);
    for (size_t i = 0; i < next.size(); ++i) values[i] = next[i].copy();
  }
  values.resize(states_of(a.node));
  return values;
}

// The errors of a turn are those that the next one begins with.
std::vector<Tensor> error(const ErrorArgs& a) {
  std::vector<Tensor> values(a.inputs.begin(), a.inputs.end()), errors(a.errors.begin(), a.errors.end());
  for (int64_t turn = 0; turn < count_of(a.node); ++turn) {
    auto [next, moved] = a.run_body(*a.node.bodies[0], values, errors);
    for (size_t i = 0; i < next.size(); ++i) {
      values[i] = next[i].copy();
      errors[i] = moved[i].copy();
    }
  }
  errors.resize(states_of(a.node));
  return errors;
}

// The turns one after the other, as expressions, each differentiated in its turn: count copies of the body. A loop that
// stores its states is scan's; this op proves that bodies pass through every stage.
std::vector<Expr> gradient(const GradientArgs& a) {
  const Graph& body = *a.node.bodies[0];
  size_t states = states_of(a.node);
  std::vector<Expr> captures(a.node.inputs.begin() + static_cast<std::ptrdiff_t>(states), a.node.inputs.end());
  // The state before each turn: a shorter repeat of the same body.
  auto before = [&](int64_t turn) {
    return turn == 0
               ? std::vector<Expr>(a.node.inputs.begin(), a.node.inputs.begin() + static_cast<std::ptrdiff_t>(states))
               : repeat_graph(a.node.bodies[0], turn, states, a.node.inputs);
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

// The tangents are further states and captures: a loop whose body computes both.
std::vector<Expr> jvp(const JvpArgs& a) {
  const Graph& body = *a.node.bodies[0];
  const size_t states = states_of(a.node);
  std::vector<Expr> tangents(body.inputs.size()), next;  // in the body; empty: zero in every turn
  for (size_t i = 0; i < tangents.size(); ++i)
    if (a.tangents[i].has_value()) tangents[i] = make_input(body.inputs[i].type(), "tangent");
  // A state that has none may get one from another.
  for (bool changed = true; std::exchange(changed, false);) {
    std::vector<Expr> wrt, directions;
    for (size_t i = 0; i < tangents.size(); ++i)
      if (tangents[i].has_value()) {
        wrt.push_back(body.inputs[i]);
        directions.push_back(tangents[i]);
      }
    next = a.differentiate(body.outputs, wrt, directions);
    for (size_t i = 0; i < states; ++i)
      if (next[i].has_value() && !tangents[i].has_value()) {
        tangents[i] = make_input(body.inputs[i].type(), "tangent");
        changed = true;
      }
  }
  auto graph = std::make_shared<Graph>();
  std::vector<Expr> inputs;
  std::vector<size_t> moving;  // the states that have tangents
  auto add_inputs = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      graph->inputs.push_back(body.inputs[i]);
      inputs.push_back(a.input(i));
    }
    for (size_t i = begin; i < end; ++i) {
      if (!tangents[i].has_value()) continue;
      graph->inputs.push_back(tangents[i]);
      inputs.push_back(a.tangents[i].has_value() ? a.tangents[i] : zeros_like(a.input(i)));
      if (i < states) moving.push_back(i);
    }
  };
  add_inputs(0, states);
  add_inputs(states, body.inputs.size());
  graph->outputs = body.outputs;
  for (size_t i : moving) graph->outputs.push_back(next[i].has_value() ? next[i] : zeros_like(body.inputs[i]));
  const std::vector<Expr> last = repeat_graph(graph, count_of(a.node), states + moving.size(), std::move(inputs));
  std::vector<Expr> out(states);
  for (size_t k = 0; k < moving.size(); ++k) out[moving[k]] = last[states + k];
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
      .jvp = jvp,
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
  graph->outputs = body(state, outside);
  std::vector<Expr> inputs = initial;
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return repeat_graph(std::move(graph), count, initial.size(), std::move(inputs));
}

}  // namespace thtrain
