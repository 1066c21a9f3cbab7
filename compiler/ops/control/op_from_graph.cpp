#include "compiler/ops/control/op_from_graph.h"

#include <algorithm>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/connections.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// Inputs of the node and of its first body: arguments, captures, perhaps a token. A second body gives the cotangents of
// the arguments that have one and are not listed in the property `disconnected`; its inputs are arguments, results,
// cotangents of those results that have derivatives, and then the same captures and token.
struct CallParts {
  explicit CallParts(const Node& node)
      : arguments(static_cast<size_t>(node.props.get<int64_t>("arguments"))),
        results(node.types.size() - carries_token(*node.bodies[0])),
        has_gradient(node.bodies.size() > 1) {
    if (!has_gradient) return;
    for (size_t i = 0; i < arguments; ++i) given.push_back(differentiable(node.inputs[i].type()));
    for (int64_t i : node.props.get<Ints>("disconnected")) given[static_cast<size_t>(i)] = false;
  }
  size_t arguments, results;
  bool has_gradient;
  std::vector<bool> given;  // with a second body: does it give the argument's cotangent?
};

std::vector<Type> infer_op_from_graph(const TypeArgs& a) {
  const Graph& body = *a.bodies[0];
  const int64_t arguments = a.props.get<int64_t>("arguments");
  a.require(body.inputs.size() == a.inputs.size(), "the graph takes another number of values");
  a.require(arguments >= 0 && static_cast<size_t>(arguments) <= a.inputs.size(), "an argument is missing");
  for (size_t i = 0; i < a.inputs.size(); ++i)
    a.require(body.inputs[i].type() == a.type(i), str("value ", i, " has another type than the graph takes"),
              readable(body.inputs[i].type().text()));
  std::vector<Type> out;
  for (const Expr& result : body.outputs) out.push_back(result.type());
  return out;
}

void lower_op_from_graph(kernel::RegionBuilder& b) {
  const Graph& whole = *b.node().bodies[0];
  Graph read{.inputs = whole.inputs, .outputs = {}, .updates = {}, .effects = whole.effects};
  std::vector<kernel::RegionValue> inputs, outputs;
  for (size_t i = 0; i < b.node().inputs.size(); ++i) inputs.push_back(b.input(i));
  for (size_t o = 0; o < whole.outputs.size(); ++o)
    if (b.is_read(o)) {
      read.outputs.push_back(whole.outputs[o]);
      outputs.push_back(b.output(o));
    }
  b.body(read, inputs, outputs);
}

std::vector<Expr> make_call(std::vector<GraphPtr> bodies, std::vector<Expr> inputs, size_t arguments,
                            const Ints& disconnected = {},
                            const std::source_location& where = std::source_location::current()) {
  Props props{{"arguments", static_cast<int64_t>(arguments)}};
  if (bodies.size() > 1) props.set("disconnected", disconnected);
  const std::shared_ptr<const Node> node =
      make_node(graph_call_op(), std::move(inputs), std::move(props), std::move(bodies), where);
  std::vector<Expr> out;
  for (size_t o = 0; o < node->types.size(); ++o) out.emplace_back(node, o);
  return out;
}

// A call of a graph of derivatives, of values of `body`: those that are there, in terms of `inside`, which stand for
// `given` outside.
std::vector<Expr> call_of_derivatives(const Node& node, const Graph& body, std::vector<Expr> derivatives,
                                      std::vector<Expr> inside, std::vector<Expr> given) {
  auto graph = std::make_shared<Graph>();
  for (const Expr& d : derivatives)
    if (d.has_value()) graph->outputs.push_back(d);
  if (graph->outputs.empty()) return derivatives;
  graph->effects = needed_definitions(graph->outputs, body.effects);
  if (std::optional<Expr> kept = kept_for_effects(node)) {
    given.push_back(*kept);
    inside.push_back(make_input(kept->type(), "printed"));
  }
  graph->inputs = std::move(inside);
  const size_t arguments = given.size();
  const std::vector<Expr> made = make_call({std::move(graph)}, std::move(given), arguments);
  size_t next = 0;
  for (Expr& d : derivatives)
    if (d.has_value()) d = made[next++];
  return derivatives;
}

// Of the arguments by the user's graph: every result with a derivative has a cotangent there.
std::vector<Expr> given_gradient(const GradientArgs& a, const CallParts& parts) {
  const Graph body = without_effects(*a.node.bodies[1]);
  std::vector<Expr> given(a.node.inputs.begin(), a.node.inputs.begin() + static_cast<std::ptrdiff_t>(parts.arguments));
  given.insert(given.end(), a.outputs.begin(), a.outputs.begin() + static_cast<std::ptrdiff_t>(parts.results));
  for (size_t o = 0; o < parts.results; ++o)
    if (differentiable(a.outputs[o].type()))
      given.push_back(a.cotangents[o].has_value() ? a.cotangents[o] : zeros_like(a.outputs[o]));
  given.insert(given.end(), a.node.inputs.begin() + static_cast<std::ptrdiff_t>(parts.arguments), a.node.inputs.end());
  std::vector<Expr> derivatives;
  for (size_t i = 0, next = 0; i < parts.arguments; ++i)
    derivatives.push_back(parts.given[i] ? body.outputs[next++] : Expr());
  return call_of_derivatives(a.node, body, std::move(derivatives), body.inputs, std::move(given));
}

// Of the inputs from `first` on by the derivative of the graph.
std::vector<Expr> derived_gradient(const GradientArgs& a, const CallParts& parts, size_t first) {
  const Graph body = without_effects(*a.node.bodies[0]);  // it runs again
  std::vector<Expr> inside = body.inputs, given = a.node.inputs, outputs, cotangents;
  for (size_t o = 0; o < parts.results; ++o) {
    if (!a.cotangents[o].has_value()) continue;
    cotangents.push_back(make_input(a.cotangents[o].type(), "cotangent"));
    outputs.push_back(body.outputs[o]);
    inside.push_back(cotangents.back());
    given.push_back(a.cotangents[o]);
  }
  std::vector<Expr> derivatives = a.differentiate(outputs, cotangents, std::span(body.inputs).subspan(first));
  return call_of_derivatives(a.node, body, std::move(derivatives), std::move(inside), std::move(given));
}

std::vector<Expr> gradient_op_from_graph(const GradientArgs& a) {
  const CallParts parts(a.node);
  if (!parts.has_gradient) return derived_gradient(a, parts, 0);
  std::vector<Expr> out = given_gradient(a, parts);
  const std::vector<Expr> of_captures = derived_gradient(a, parts, parts.arguments);
  out.insert(out.end(), of_captures.begin(), of_captures.end());
  return out;
}

// With a given gradient an argument is connected to the results whose cotangents its own is computed from; one that is
// computed from none is there whatever the results' are. One that the gradient gives none for is connected to nothing.
ConnectionTable connections_of_call(const Node& node) {
  const CallParts parts(node);
  ConnectionTable out = connections_of(*node.bodies[0]);
  if (!parts.has_gradient) return out;
  const ConnectionTable given = connections_of(*node.bodies[1]);
  for (size_t i = 0, next = 0; i < parts.arguments; ++i) {
    out[i].assign(node.types.size(), false);
    if (!parts.given[i]) continue;
    std::vector<bool> row(node.types.size());
    for (size_t o = 0, d = parts.arguments + parts.results; o < parts.results; ++o)
      if (differentiable(node.types[o])) row[o] = given[d++][next];
    const bool reads_none = std::find(row.begin(), row.end(), true) == row.end();
    out[i] = reads_none ? std::vector<bool>(node.types.size(), true) : std::move(row);
    ++next;
  }
  return out;
}

std::vector<OpCase> cases_op_from_graph() {
  const Type vector{.dtype = DType::kFloat64, .dims = {3}};
  const GraphBuilder formula = [](const std::vector<Expr>& x) {
    return std::vector{tanh(x[0] * x[1]), x[0] + sum(sqr(x[1]))};
  };
  const GraphGradient by_hand = [](const std::vector<Expr>& x, const std::vector<Expr>& y, const std::vector<Expr>& d) {
    const Expr slope = d[0] * (1 - sqr(y[0]));
    return std::vector{slope * x[1] + d[1], slope * x[0] + 2 * x[1] * sum(d[1])};
  };
  auto twice = [](OpFromGraph op) {
    return [op](const std::vector<Expr>& x) { return op({op({x[0], x[1]})[0], x[1]}); };
  };
  auto captures = [](const std::vector<Expr>& x) {
    return OpFromGraph([&](const std::vector<Expr>& in) { return std::vector{exp(in[0]) * x[1], in[0]}; })({x[0]});
  };
  return {{.name = "twice", .inputs = {vector, vector}, .build = twice(OpFromGraph(formula)), .bound = 64},
          {.name = "by_hand", .inputs = {vector, vector}, .build = twice(OpFromGraph(formula, by_hand)), .bound = 64},
          {.name = "captures", .inputs = {vector, vector}, .build = captures, .bound = 64}};
}

[[noreturn]] void fail_gradient(const std::source_location& where, std::string what, std::string expected,
                                std::string got) {
  fail_build(where, str("op_from_graph: the gradient gives ", what), std::move(expected), std::move(got), {});
}

}  // namespace

const Op& graph_call_op() {
  static const Op op{
      .name = "graph_call",
      .doc =
          "The results of a graph. A second graph, where there is one, gives the cotangents of the arguments from "
          "arguments, results and cotangents.\n"
          "Shapes: arguments, then the captures of the graph; gives its results.\n"
          "dtypes: those of the graph.\n"
          "Gradient: a call of the second graph, or of the first one's derivative.\n"
          "Edge cases: those of the graph.",
      .infer = infer_op_from_graph,
      .reference = [](const ReferenceArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs); },
      .error = [](const ErrorArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs, a.errors).second; },
      .gradient = gradient_op_from_graph,
      .lower_region = lower_op_from_graph,
      .foldable = false,
      .connection = ConnectionsOfBodies{connections_of_call},
      .cases = cases_op_from_graph,
  };
  return op;
}

std::vector<Expr> OpFromGraph::operator()(const std::vector<Expr>& arguments, std::source_location where) const {
  auto leaves_like = [&](const std::vector<Expr>& values, const char* name) {
    std::vector<Expr> out;
    for (const Expr& value : values) out.push_back(make_body_input(value.type(), name, where));
    return out;
  };
  for (const Expr& value : arguments) require_value(value, "op_from_graph: an argument", where);
  std::vector<Body> bodies;
  Ints disconnected;
  const std::vector<Expr> inputs = leaves_like(arguments, "argument");
  bodies.push_back(make_body(
      inputs, [&] { return build_(inputs); }, where));
  if (gradient_) {
    const std::vector<Expr> values = leaves_like(arguments, "argument"),
                            results = leaves_like(bodies[0].graph->outputs, "result");
    std::vector<Expr> cotangents, all = values;
    all.insert(all.end(), results.begin(), results.end());
    for (const Expr& result : results) {
      cotangents.push_back(differentiable(result.type()) ? make_body_input(result.type(), "cotangent", where) : Expr());
      if (cotangents.back().has_value()) all.push_back(cotangents.back());
    }
    auto build = [&] {
      const std::vector<Expr> given = gradient_(values, results, cotangents);
      if (given.size() != values.size())
        fail_gradient(where, "another number of cotangents", str(values.size(), ", one for each argument"),
                      str(given.size()));
      std::vector<Expr> out;
      for (size_t i = 0; i < given.size(); ++i) {
        if (!differentiable(values[i].type())) continue;
        if (!given[i].has_value()) {
          disconnected.push_back(static_cast<int64_t>(i));
          continue;
        }
        out.push_back(typed_as(given[i], values[i].type()));
        if (!(out.back().type() == values[i].type()))
          fail_gradient(where, str("a cotangent of another type for argument ", i), readable(values[i].type().text()),
                        value_text(out.back()));
      }
      return out;
    };
    bodies.push_back(make_body(all, build, where));
  }
  std::vector<Expr> all = arguments;
  const std::vector<Expr> captures = share_captures(bodies);
  all.insert(all.end(), captures.begin(), captures.end());
  std::vector<GraphPtr> graphs;
  for (const Body& body : bodies) graphs.push_back(body.graph);
  return make_call(std::move(graphs), std::move(all), arguments.size(), disconnected, where);
}

}  // namespace thtrain
