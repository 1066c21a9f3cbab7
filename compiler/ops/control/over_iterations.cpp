#include "compiler/ops/control/over_iterations.h"

#include <algorithm>

#include "compiler/ops/control/body.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void OverIterations::know(const Expr& in_body, const Expr& outside, bool varies) {
  facts_[key(in_body)] = {in_body, outside, varies, false};
}

static bool has_rule(const Node& node, const std::vector<bool>& varies) {
  const IterationsRule* rule = node.op->iterations;
  return rule && rule->all && (!rule->applies || rule->applies(node, varies));
}

static bool has_rule_of_bodies(const Node& node, const std::vector<bool>& varies) {
  const IterationsRule* rule = node.op->iterations;
  return rule && rule->outputs && rule->applies(node, varies);
}

std::unordered_set<const Node*> OverIterations::know_fixed(const std::vector<Expr>& roots,
                                                           std::unordered_set<const Node*> varying) {
  for (const Node* node : topological_order(roots)) {
    for (const Expr& input : node->inputs)
      if (varying.contains(&input.node())) varying.insert(node);
    if (!varying.contains(node))
      for (size_t o = 0; o < node->types.size(); ++o) know((*node)[o], (*node)[o], false);
  }
  return varying;
}

bool OverIterations::follows(const Node& node) const {
  if (node.inputs.empty() ||
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Expr& input) { return !is_known(input); }))
    return false;
  const IterationsRule* rule = node.op->iterations;
  const bool is_mapped = others_ == Follows::kMapped;
  if (!is_mapped && rule && rule->may_fail && !iterations_.is_at_least(1)) return false;
  const std::vector<bool> varying = inputs_that_vary(node);
  if (std::find(varying.begin(), varying.end(), true) == varying.end()) return true;
  if (node.op->scalar || is_mapped) return true;
  if (!has_rule(node, varying)) return false;
  return others_ == Follows::kByRules || rule->is_whole_view || (rule->pays && rule->pays(node, varying));
}

// A loop of one node.
static Expr mapped(const Node& node, size_t output, const Dim& iterations, const std::vector<Expr>& inputs,
                   const std::vector<bool>& varies) {
  auto body = std::make_shared<Graph>();
  std::vector<Expr> own(inputs.size()), outside;
  size_t sequences = 0;
  for (bool varying : {true, false})  // sequences, and then captures
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (varies[i] != varying) continue;
      own[i] = constant_value(inputs[i]) ? inputs[i] : make_input(node.inputs[i].type(), "element");
      if (constant_value(inputs[i])) continue;
      body->inputs.push_back(own[i]);
      outside.push_back(inputs[i]);
      sequences += varying;
    }
  const std::shared_ptr<const Node> inside = clone_with_inputs(node, own, node.bodies);
  body->outputs = {Expr(inside, output)};
  if (const std::optional<Expr> effect = kept_for_effects(*inside)) body->effects = {*effect};
  return make_scan({.count = iterations, .taps = {}, .sequences = sequences}, std::move(body), std::move(outside))[0];
}

std::vector<bool> OverIterations::inputs_that_vary(const Node& node) const {
  std::vector<bool> out;
  for (const Expr& input : node.inputs) out.push_back(varies(input));
  return out;
}

void OverIterations::find(const std::vector<Expr>& roots) {
  for (const Node* node : topological_order(roots)) {
    if (node->op == &constant_op()) {
      const Expr value = (*node)[0];
      know(value, value, false);
      continue;
    }
    if (node->is_leaf() || !follows(*node)) continue;
    Fact fact;
    for (const Expr& input : node->inputs) {
      fact.varies |= varies(input);
      fact.pays |= pays(input);
    }
    const IterationsRule* rule = node->op->iterations;
    fact.pays |= fact.varies && rule && rule->pays && rule->pays(*node, inputs_that_vary(*node));
    for (size_t o = 0; o < node->types.size(); ++o)
      if (fact.value = (*node)[o]; !is_known(fact.value)) facts_[key(fact.value)] = fact;
  }
}

// An operand of an elementwise node whose result has that rank in the body.
Expr OverIterations::aligned(const Expr& value, size_t rank) {
  const Expr out = outside(value);
  if (!varies(value) || value.rank() == rank) return out;
  std::vector<int64_t> order = {0};
  order.insert(order.end(), rank - value.rank(), -1);
  for (size_t i = 0; i < value.rank(); ++i) order.push_back(static_cast<int64_t>(i) + 1);
  return dimshuffle(out, order);
}

Expr OverIterations::made(const Node& node, size_t output) {
  InheritOrigin origin(node.origin);
  std::vector<Expr> inputs;
  const bool is_varying = varies(Expr(node.self.lock(), output));
  const size_t rank = node.types[output].rank();
  for (const Expr& input : node.inputs)
    inputs.push_back(is_varying && node.op->scalar ? aligned(input, rank) : outside(input));
  if (is_varying && !node.op->scalar) {
    const std::vector<bool> varying = inputs_that_vary(node);
    if (others_ == Follows::kMapped && has_rule_of_bodies(node, varying)) {
      const std::vector<Expr> all = node.op->iterations->outputs(node, iterations_, inputs, varying);
      for (size_t o = 0; o < all.size(); ++o) facts_.at({&node, o}).outside = all[o];
      return all[output];
    }
    if (!has_rule(node, varying)) return mapped(node, output, iterations_, inputs, varying);
    const Expr first = node.op->iterations->all(node, iterations_, inputs, varying);
    return output == 0 ? first : Expr(first.node_ptr(), output);
  }
  return Expr(clone_with_inputs(node, std::move(inputs), node.bodies), output);
}

// Inputs first: the depth of what a body computes has no bound.
Expr OverIterations::outside(const Expr& value) {
  if (facts_.at(key(value)).outside.has_value()) return facts_.at(key(value)).outside;
  for (const Node* node : topological_order(std::vector{value}))
    for (size_t o = 0; o < node->types.size(); ++o) {
      const auto found = facts_.find({node, o});
      if (found == facts_.end() || found->second.outside.has_value()) continue;
      // What lies behind a value that is known by itself may be unknown.
      if (std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Expr& input) {
            const auto of_input = facts_.find(key(input));
            return of_input != facts_.end() && of_input->second.outside.has_value();
          }))
        found->second.outside = made(*node, o);
    }
  return facts_.at(key(value)).outside;
}

Expr OverIterations::one(const Expr& value) {
  TH_CHECK(!varies(value), "a value that varies is not one for all iterations");
  return outside(value);
}

Expr OverIterations::all(const Expr& value) {
  const Expr out = outside(value);
  if (varies(value)) return out;
  Dims lengths = value.dims();
  lengths.insert(lengths.begin(), iterations_);
  return broadcast_to(out, lengths);
}

GraphPtr body_of_iterations(const Graph& body, const Dim& iterations, std::span<const Type> types,
                            const std::vector<bool>& varies, const std::vector<bool>& fixed) {
  auto out = std::make_shared<Graph>();
  OverIterations over(iterations, OverIterations::Follows::kMapped);
  std::unordered_set<const Node*> varying;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    out->inputs.push_back(varies[i] ? make_input(types[i], body.inputs[i].name()) : body.inputs[i]);
    over.know(body.inputs[i], out->inputs[i], varies[i]);
    if (varies[i]) varying.insert(&body.inputs[i].node());
  }
  over.know_fixed(body.outputs, std::move(varying));
  over.find(body.outputs);
  for (size_t o = 0; o < body.outputs.size(); ++o) {
    Type type = body.outputs[o].type();
    if (o < fixed.size() && fixed[o]) {
      out->outputs.push_back(over.one(body.outputs[o]));
      continue;
    }
    type.dims.insert(type.dims.begin(), iterations);
    out->outputs.push_back(typed_as(over.all(body.outputs[o]), type));
  }
  return out;
}

}  // namespace thtrain
