#include "compiler/passes/over_iterations.h"

#include <algorithm>

#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void OverIterations::know(const Expr& in_body, const Expr& outside, bool varies) {
  facts_[key(in_body)] = {in_body, outside, varies, false};
}

bool OverIterations::follows(const Node& node) const {
  if (node.inputs.empty() ||
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Expr& input) { return !is_known(input); }))
    return false;
  const std::vector<bool> varying = inputs_that_vary(node);
  if (std::find(varying.begin(), varying.end(), true) == varying.end()) return true;
  return node.op->scalar ||
         (node.op->iterations && node.op->iterations->applies && node.op->iterations->applies(node, varying));
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
    fact.pays |= fact.varies && node->op->iterations && node->op->iterations->pays;
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
  if (is_varying && !node.op->scalar)
    return node.op->iterations->all(node, iterations_, inputs, inputs_that_vary(node));
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

Expr OverIterations::all(const Expr& value) {
  const Expr out = outside(value);
  if (varies(value)) return out;
  Dims lengths = value.dims();
  lengths.insert(lengths.begin(), iterations_);
  return broadcast_to(out, lengths);
}

}  // namespace thtrain
