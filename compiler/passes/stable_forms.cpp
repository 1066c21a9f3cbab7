#include "compiler/passes/stable_forms.h"

#include <algorithm>

#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/passes/choose_gradients.h"
#include "compiler/passes/constant_fold.h"
#include "compiler/passes/merge.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rules.h"

namespace thtrain {

// The value, whose derivative is that of another form. Lives while grad does.
static const Op& derived_as_op() {
  static const Op op{.name = "derived_as",
                     .doc = "x, with the derivative of y.",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .gradient =
                         [](const GradientArgs& a) {
                           return std::vector<Expr>{{}, a.cotangent()};
                         },
                     .jvp = [](const JvpArgs& a) { return std::vector<Expr>{a.tangent(1)}; },
                     .foldable = false};
  return op;
}

// A rule of derivative_rules(): value -> derived_as(value, form).
static Rule with_the_value(const Rule& rule) {
  Rule out{.name = rule.name, .safety = rule.safety, .kinds = rule.kinds};
  out.rewrite = [&rule](const Expr& value, RuleContext& context) {
    const Expr form = apply_rule(rule, value, context);
    return form.has_value() ? apply(derived_as_op(), {value, form}) : Expr();
  };
  out.roots = rule.rewrite ? rule.roots : std::vector<const Op*>{rule.from.node().op};
  return out;
}

static std::vector<const Rule*> without_values_only(std::vector<const Rule*> rules) {
  std::erase_if(rules, [](const Rule* rule) { return rule->values_only; });
  return rules;
}

static const std::vector<const Rule*>& differentiable_canonical_rules() {
  static const std::vector<const Rule*> rules = without_values_only(canonical_rules());
  return rules;
}

static const std::vector<const Rule*>& differentiable_stable_rules() {
  static const std::vector<Rule> derivatives = [] {
    std::vector<Rule> out;
    for (const Rule* rule : derivative_rules()) out.push_back(with_the_value(*rule));
    return out;
  }();
  static const std::vector<const Rule*> rules = [] {
    std::vector<const Rule*> out = without_values_only(stable_rules());
    for (const Rule& rule : derivatives) out.push_back(&rule);
    return out;
  }();
  return rules;
}

static const std::vector<Pass>& differentiable_passes() {
  static const std::vector<Pass> passes{{"choose_gradients", "", choose_gradients},
                                        {"merge", "", merge},
                                        {"constant_fold", "", constant_fold},
                                        {"canonicalize", "",
                                         [](const Graph& graph, const PassContext& context) {
                                           return apply_rules(graph, differentiable_canonical_rules(), context,
                                                              "canonicalize");
                                         }},
                                        {"stabilize", "", [](const Graph& graph, const PassContext& context) {
                                           return apply_rules(graph, differentiable_stable_rules(), context,
                                                              "stabilize", differentiable_canonical_rules());
                                         }}};
  return passes;
}

static bool has_forms(const std::vector<Expr>& roots) {
  const std::vector<const Node*> order = topological_order(roots);
  return std::ranges::any_of(order, [](const Node* node) {
    return node->op == &derived_as_op() ||
           std::ranges::any_of(node->bodies, [](const GraphPtr& body) { return has_forms(body->roots()); });
  });
}

static Graph without_forms(const Graph& graph) {
  return rewrite_graph(map_bodies(graph, without_forms), [](const Node& node, const std::vector<Expr>& inputs) {
    return node.op == &derived_as_op() ? std::vector<Expr>{inputs[0]} : std::vector<Expr>();
  });
}

std::vector<Expr> values_of_forms(const std::vector<Expr>& derivatives) {
  if (!has_forms(derivatives)) return derivatives;
  return without_forms({.inputs = {}, .outputs = derivatives, .updates = {}}).outputs;
}

// A number of elements, or a label: what a mean divides by.
static bool is_exact_number(const Expr& e) {
  return is_op(e, cast_op()) && !is_float(input_of(e, 0).dtype());
}

// Does the node's derivative divide by what may vanish or overflow? Elsewhere the plain derivative is finite wherever
// the value and the stable derivative are, so that a network that ends in log_softmax is not rewritten here for
// nothing.
static bool divides(const Node& node) {
  if (!node.op->scalar || node.op->scalar->singular_in < 0) return false;
  const Expr& divisor = node.inputs[static_cast<size_t>(node.op->scalar->singular_in)];
  return !number_in(divisor) && !is_exact_number(divisor);
}

// What defines a length, and a leaf for each of its outputs. Forms of a value must not compute a length in another way:
// a name has one value, and nothing is differentiated through it.
static std::vector<std::pair<Expr, Expr>> leaves_for_definitions(const std::vector<const Node*>& order) {
  std::vector<std::pair<Expr, Expr>> out;
  for (const Node* node : order)
    for (size_t o = 0; node->op->defines && o < node->types.size(); ++o)
      out.emplace_back((*node)[o], make_input(node->types[o], node->op->name));
  return out;
}

std::optional<std::vector<Expr>> stable_forms(const std::vector<Expr>& all) {
  std::vector<std::pair<Expr, Expr>> definitions = leaves_for_definitions(topological_order(all));
  const std::vector<Expr> values = definitions.empty() ? all : substitute(all, definitions);
  const std::vector<const Node*> order = topological_order(values);
  if (std::ranges::none_of(order, [](const Node* node) { return divides(*node) || !node->bodies.empty(); }))
    return std::nullopt;
  Graph graph;
  for (const Expr& leaf : leaves_of(values))
    if (is_input(leaf)) graph.inputs.push_back(leaf);
  graph.outputs = values;
  std::vector<Fired> fired;
  const PassContext context{.fired = &fired};
  for (const Pass& pass : differentiable_passes()) graph = run_pass(pass, graph, context);
  const bool changed =
      std::any_of(fired.begin(), fired.end(), [](const Fired& f) { return f.safety == Safety::kRangeChanging; });
  if (!changed) return std::nullopt;
  if (definitions.empty()) return graph.outputs;
  for (auto& [definition, leaf] : definitions) std::swap(definition, leaf);
  return substitute(graph.outputs, definitions);
}

}  // namespace thtrain
