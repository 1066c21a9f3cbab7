#include "compiler/ops/control/op_from_graph.h"

#include <algorithm>
#include <iterator>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/connections.h"
#include "compiler/ops/control/over_iterations.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// Inputs of the node and of its first body: arguments, captures, perhaps a token. With the property `disconnected`, a
// second body gives the cotangents of the arguments that have one and are not listed there, nor in `own`, whose
// derivative is the graph's own; its inputs are arguments, results, cotangents of those results that have derivatives,
// and then the same captures and token. With the property `unmoved` the last body gives the tangents of the results
// that have one and are not listed there, from arguments, results and tangents of those arguments that have
// derivatives.
struct CallParts {
  explicit CallParts(const Node& node)
      : arguments(static_cast<size_t>(node.props.get<int64_t>("arguments"))),
        results(node.types.size() - carries_token(*node.bodies[0])),
        has_gradient(node.props.has("disconnected")) {
    if (!has_gradient) return;
    for (size_t i = 0; i < arguments; ++i) given.push_back(differentiable(node.inputs[i].type()));
    for (int64_t i : node.props.get<Ints>("disconnected")) given[static_cast<size_t>(i)] = false;
    for (int64_t i : node.props.get_or("own", Ints())) {
      given[static_cast<size_t>(i)] = false;
      own.push_back(static_cast<size_t>(i));
    }
  }
  size_t arguments, results;
  bool has_gradient;
  std::vector<bool> given;  // with a second body: does it give the argument's cotangent?
  std::vector<size_t> own;  // with a second body: arguments whose derivative is the graph's own
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

std::vector<Expr> make_call(std::vector<GraphPtr> bodies, std::vector<Expr> inputs, size_t arguments, Props props = {},
                            const std::source_location& where = std::source_location::current()) {
  const Op& op = props.has("unmoved") ? graph_call_with_tangents_op() : graph_call_op();
  props.set("arguments", static_cast<int64_t>(arguments));
  return outputs_of(*make_node(op, std::move(inputs), std::move(props), std::move(bodies), where));
}

// A derivative that the user gave is of a call of one element.
constexpr IterationsRule kCallOfIterations{
    .applies = [](const Node& node,
                  const std::vector<bool>&) { return node.bodies.size() == 1 && node.bodies[0]->effects.empty(); },
    .outputs =
        [](const Node& node, const Dim& iterations, std::span<const Expr> inputs, const std::vector<bool>& varies) {
          std::vector<Type> types;
          for (const Expr& input : inputs) types.push_back(input.type());
          return make_call({body_of_iterations(*node.bodies[0], iterations, types, varies)},
                           {inputs.begin(), inputs.end()}, CallParts(node).arguments, node.props);
        },
    .may_fail = true};

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

// Of these inputs by the derivative of the graph.
std::vector<Expr> derived_gradient(const GradientArgs& a, const CallParts& parts, const std::vector<size_t>& wrt) {
  const Graph body = without_effects(*a.node.bodies[0]);  // it runs again
  std::vector<Expr> inside = body.inputs, given = a.node.inputs, outputs, cotangents, values;
  for (size_t o = 0; o < parts.results; ++o) {
    if (!a.cotangents[o].has_value()) continue;
    cotangents.push_back(make_input(a.cotangents[o].type(), "cotangent"));
    outputs.push_back(body.outputs[o]);
    inside.push_back(cotangents.back());
    given.push_back(a.cotangents[o]);
  }
  for (size_t i : wrt) values.push_back(body.inputs[i]);
  std::vector<Expr> derivatives = a.differentiate(outputs, cotangents, values);
  return call_of_derivatives(a.node, body, std::move(derivatives), std::move(inside), std::move(given));
}

std::vector<Expr> gradient_op_from_graph(const GradientArgs& a) {
  const CallParts parts(a.node);
  std::vector<Expr> out(a.node.inputs.size());
  std::vector<size_t> derived = parts.own;
  if (parts.has_gradient) {
    const std::vector<Expr> given = given_gradient(a, parts);
    std::copy(given.begin(), given.end(), out.begin());
  }
  for (size_t i = parts.has_gradient ? parts.arguments : 0; i < out.size(); ++i) derived.push_back(i);
  const std::vector<Expr> rest = derived_gradient(a, parts, derived);
  for (size_t k = 0; k < derived.size(); ++k) out[derived[k]] = rest[k];
  return out;
}

// Of the results by the user's graph, for the tangents of the arguments.
std::vector<Expr> given_tangents(const JvpArgs& a, const CallParts& parts) {
  const Graph body = without_effects(*a.node.bodies.back());
  const auto end = static_cast<std::ptrdiff_t>(parts.arguments);
  std::vector<Expr> given(a.node.inputs.begin(), a.node.inputs.begin() + end);
  given.insert(given.end(), a.outputs.begin(), a.outputs.begin() + static_cast<std::ptrdiff_t>(parts.results));
  for (size_t i = 0; i < parts.arguments; ++i)
    if (differentiable(a.input(i).type()))
      given.push_back(a.tangent(i).has_value() ? a.tangent(i) : zeros_like(a.input(i)));
  given.insert(given.end(), a.node.inputs.begin() + end, a.node.inputs.end());
  const Ints& unmoved = a.node.props.get<Ints>("unmoved");
  std::vector<Expr> tangents(a.node.types.size());
  for (size_t o = 0, next = 0; o < parts.results; ++o)
    if (differentiable(a.node.types[o]) && !std::ranges::count(unmoved, static_cast<int64_t>(o)))
      tangents[o] = body.outputs[next++];
  return call_of_derivatives(a.node, body, std::move(tangents), body.inputs, std::move(given));
}

// Of the results by the derivative of the graph, for the tangents of the captures.
std::vector<Expr> derived_tangents(const JvpArgs& a, const CallParts& parts) {
  const Graph body = without_effects(*a.node.bodies[0]);
  std::vector<Expr> inside = body.inputs, given = a.node.inputs, wrt, tangents;
  for (size_t i = parts.arguments; i < a.tangents.size(); ++i) {
    if (!a.tangent(i).has_value()) continue;
    wrt.push_back(body.inputs[i]);
    tangents.push_back(make_input(a.tangent(i).type(), "tangent"));
    inside.push_back(tangents.back());
    given.push_back(a.tangent(i));
  }
  std::vector<Expr> outputs(body.outputs.begin(), body.outputs.begin() + static_cast<std::ptrdiff_t>(parts.results));
  std::vector<Expr> derivatives = a.differentiate(outputs, wrt, tangents);
  derivatives.resize(a.node.types.size());
  return call_of_derivatives(a.node, body, std::move(derivatives), std::move(inside), std::move(given));
}

std::vector<Expr> jvp_op_from_graph(const JvpArgs& a) {
  const CallParts parts(a.node);
  const auto captures = a.tangents.begin() + static_cast<std::ptrdiff_t>(parts.arguments);
  const auto moves = [](const Expr& tangent) { return tangent.has_value(); };
  std::vector<Expr> out(a.node.types.size());
  if (std::any_of(a.tangents.begin(), captures, moves)) out = given_tangents(a, parts);
  if (!std::any_of(captures, a.tangents.end(), moves)) return out;
  const std::vector<Expr> others = derived_tangents(a, parts);
  for (size_t o = 0; o < out.size(); ++o)
    if (others[o].has_value()) out[o] = out[o].has_value() ? out[o] + others[o] : others[o];
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
    if (std::ranges::count(parts.own, i)) continue;
    out[i].assign(node.types.size(), false);
    if (!parts.given[i]) continue;
    std::vector<bool> row(node.types.size());
    for (size_t o = 0, d = parts.arguments + parts.results; o < parts.results; ++o)
      if (differentiable(node.types[o])) row[o] = given[d++][next];
    out[i] = std::ranges::count(row, true) ? std::move(row) : std::vector<bool>(node.types.size(), true);
    ++next;
  }
  return out;
}

const Type kVector{.dtype = DType::kFloat64, .dims = {3}};

std::vector<OpCase> cases_op_from_graph() {
  const GraphBuilder formula = [](const std::vector<Expr>& x) {
    return std::vector{tanh(x[0] * x[1]), x[0] + sum(sqr(x[1]))};
  };
  const GraphGradient by_hand = [](const std::vector<Expr>& x, const std::vector<Expr>& y, const std::vector<Expr>& d) {
    const Expr slope = d[0] * (1 - sqr(y[0]));
    return std::vector{slope * x[1] + d[1], slope * x[0] + 2 * x[1] * sum(d[1])};
  };
  auto twice = [](OpFromGraph op) { return [op](const std::vector<Expr>& x) { return op({op(x)[0], x[1]}); }; };
  auto captures = [](const std::vector<Expr>& x) {
    return OpFromGraph([&](const std::vector<Expr>& in) { return std::vector{exp(in[0]) * x[1], in[0]}; })({x[0]});
  };
  return {{.name = "twice", .inputs = {kVector, kVector}, .build = twice(OpFromGraph(formula)), .bound = 64},
          {.name = "by_hand", .inputs = {kVector, kVector}, .build = twice(OpFromGraph(formula, by_hand)), .bound = 64},
          {.name = "captures", .inputs = {kVector, kVector}, .build = captures, .bound = 64}};
}

std::vector<OpCase> cases_with_tangents() {
  // tanh(x y) c, the derivative by x given, forward mode too.
  auto given = [](const std::vector<Expr>& in) {
    GraphOpOptions options;
    options.gradient_of[0] = [](const std::vector<Expr>& x, const std::vector<Expr>& y, const std::vector<Expr>& d) {
      return d[0] * (sqr(x[2]) - sqr(y[0])) / x[2] * x[1];
    };
    options.tangents = [](const std::vector<Expr>& x, const std::vector<Expr>& y, const std::vector<Expr>& d) {
      const Expr slope = (sqr(x[2]) - sqr(y[0])) / x[2];
      return std::vector{slope * (x[1] * d[0] + x[0] * d[1]) + y[0] / x[2] * d[2]};
    };
    const OpFromGraph op([](const std::vector<Expr>& x) { return std::vector{tanh(x[0] * x[1]) * x[2]}; }, options);
    return op({in[0], in[1], 2 + sqr(in[1])});
  };
  return {{.name = "given", .inputs = {kVector, kVector}, .build = given, .bound = 64}};
}

Op call_op(std::string name, std::string doc) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .infer = infer_op_from_graph,
      .reference = [](const ReferenceArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs); },
      .error = [](const ErrorArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs, a.errors).second; },
      .gradient = gradient_op_from_graph,
      .lower_region = lower_op_from_graph,
      .foldable = false,
      .connection = ConnectionsOfBodies{connections_of_call},
  };
}

}  // namespace

const Op& graph_call_op() {
  static const Op op = [] {
    Op out = call_op(
        "graph_call",
        "The results of a graph. A second graph, where there is one, gives the cotangents of the arguments from "
        "arguments, results and cotangents.\n"
        "Shapes: arguments, then the captures of the graph; gives its results.\n"
        "dtypes: those of the graph.\n"
        "Gradient: a call of the second graph, or of the first one's derivative.\n"
        "Edge cases: those of the graph.");
    out.cases = cases_op_from_graph;
    out.iterations = &kCallOfIterations;
    return out;
  }();
  return op;
}

const Op& graph_call_with_tangents_op() {
  static const Op op = [] {
    Op out = call_op("graph_call_with_tangents",
                     "The results of a graph, as graph_call. A last graph gives the tangents of the results from "
                     "arguments, results and the arguments' tangents.\n"
                     "Shapes: as graph_call.\n"
                     "dtypes: those of the graph.\n"
                     "Gradient: as graph_call.\n"
                     "Edge cases: those of the graph.");
    out.jvp = jvp_op_from_graph;
    out.cases = cases_with_tangents;
    return out;
  }();
  return op;
}

namespace {

[[noreturn]] void fail_derivative(const std::source_location& where, const char* gives, std::string what,
                                  std::string expected, std::string got) {
  fail_build(where, str("op_from_graph: ", gives, what), std::move(expected), std::move(got), {});
}

// The graphs of one call, while they are built.
class CallBuilder {
 public:
  CallBuilder(const std::vector<Expr>& arguments, const std::source_location& where)
      : arguments_(arguments), where_(where) {}

  void add_graph(const GraphBuilder& build) {
    const std::vector<Expr> inputs = leaves_like(arguments_, "argument");
    bodies_.push_back(make_body(
        inputs, [&] { return build(inputs); }, where_));
    results_ = bodies_[0].graph->outputs;
  }

  void add_gradient(const GraphOpOptions& options) {
    const std::vector<Expr> values = leaves_like(arguments_, "argument"), results = leaves_like(results_, "result"),
                            cotangents = derivatives_like(results_, "cotangent");
    Ints disconnected, own;
    auto build = [&] {
      std::vector<Expr> given(values.size());
      if (options.gradient) given = options.gradient(values, results, cotangents);
      if (given.size() != values.size())
        fail_derivative(where_, "the gradient gives ", "another number of cotangents",
                        str(values.size(), ", one for each argument"), str(given.size()));
      for (const auto& [i, rule] : options.gradient_of) given[i] = rule(values, results, cotangents);
      std::vector<Expr> out;
      for (size_t i = 0; i < given.size(); ++i) {
        if (!differentiable(values[i].type())) continue;
        const bool is_own = !options.gradient && !options.gradient_of.count(i);
        if (!given[i].has_value()) {
          (is_own ? own : disconnected).push_back(static_cast<int64_t>(i));
          continue;
        }
        out.push_back(typed_as(given[i], values[i].type(), {}, where_));
        if (!(out.back().type() == values[i].type()))
          fail_derivative(where_, "the gradient gives ", str("a cotangent of another type for argument ", i),
                          readable(values[i].type().text()), value_text(out.back()));
      }
      return out;
    };
    bodies_.push_back(make_body(joined(values, results, cotangents), build, where_));
    props_.set("disconnected", disconnected);
    if (!own.empty()) props_.set("own", own);
  }

  void add_tangents(const GraphTangents& rule) {
    const std::vector<Expr> values = leaves_like(arguments_, "argument"), results = leaves_like(results_, "result"),
                            tangents = derivatives_like(arguments_, "tangent");
    Ints unmoved;
    auto build = [&] {
      const std::vector<Expr> given = rule(values, results, tangents);
      if (given.size() != results.size())
        fail_derivative(where_, "forward mode gives ", "another number of tangents",
                        str(results.size(), ", one for each result"), str(given.size()));
      std::vector<Expr> out;
      for (size_t o = 0; o < given.size(); ++o) {
        if (!differentiable(results[o].type())) continue;
        if (!given[o].has_value()) {
          unmoved.push_back(static_cast<int64_t>(o));
          continue;
        }
        out.push_back(typed_as(given[o], results[o].type(), {}, where_));
        if (!(out.back().type() == results[o].type()))
          fail_derivative(where_, "forward mode gives ", str("a tangent of another type for result ", o),
                          readable(results[o].type().text()), value_text(out.back()));
      }
      return out;
    };
    bodies_.push_back(make_body(joined(values, results, tangents), build, where_));
    props_.set("unmoved", unmoved);
  }

  std::vector<Expr> call(bool inlined) {
    if (inlined) props_.set("inlined", true);
    std::vector<Expr> all = arguments_;
    const std::vector<Expr> captures = share_captures(bodies_);
    all.insert(all.end(), captures.begin(), captures.end());
    std::vector<GraphPtr> graphs;
    for (const Body& body : bodies_) graphs.push_back(body.graph);
    return make_call(std::move(graphs), std::move(all), arguments_.size(), std::move(props_), where_);
  }

 private:
  std::vector<Expr> leaves_like(const std::vector<Expr>& values, const char* name) const {
    std::vector<Expr> out;
    for (const Expr& value : values) out.push_back(make_body_input(value.type(), name, where_));
    return out;
  }
  std::vector<Expr> derivatives_like(const std::vector<Expr>& values, const char* name) const {
    std::vector<Expr> out;
    for (const Expr& value : values)
      out.push_back(differentiable(value.type()) ? make_body_input(value.type(), name, where_) : Expr());
    return out;
  }
  static std::vector<Expr> joined(const std::vector<Expr>& values, const std::vector<Expr>& results,
                                  const std::vector<Expr>& derivatives) {
    std::vector<Expr> out = values;
    out.insert(out.end(), results.begin(), results.end());
    std::copy_if(derivatives.begin(), derivatives.end(), std::back_inserter(out),
                 [](const Expr& d) { return d.has_value(); });
    return out;
  }

  const std::vector<Expr>& arguments_;
  const std::source_location& where_;
  std::vector<Body> bodies_;
  std::vector<Expr> results_;
  Props props_;
};

}  // namespace

std::vector<Expr> OpFromGraph::operator()(const std::vector<Expr>& arguments, std::source_location where) const {
  if (!build_)
    fail_build(where, "op_from_graph: there is no function that builds the graph", "a GraphBuilder",
               "an empty std::function", {});
  for (const Expr& value : arguments) require_value(value, "op_from_graph: an argument", where);
  const bool has_some = !options_.gradient_of.empty();
  if (options_.gradient && has_some)
    fail_build(where, "op_from_graph: the gradient is given twice", "gradient, or gradient_of", "both", {});
  if (has_some && options_.gradient_of.rbegin()->first >= arguments.size())
    fail_build(where, "op_from_graph: a gradient is given of an argument that is not there",
               str("arguments 0 to ", static_cast<int64_t>(arguments.size()) - 1),
               str(options_.gradient_of.rbegin()->first), {});
  CallBuilder call(arguments, where);
  call.add_graph(build_);
  if (options_.gradient || has_some) call.add_gradient(options_);
  if (options_.tangents) call.add_tangents(options_.tangents);
  return call.call(options_.inlined);
}

}  // namespace thtrain
