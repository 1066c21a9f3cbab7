#include "compiler/passes/over_turns.h"

#include <algorithm>

#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void OverTurns::know(const Expr& in_body, const Expr& outside, bool varies) {
  facts_[key(in_body)] = {in_body, outside, varies, false};
}

// A product of two values that vary would be one of many small ones. A vector that varies on the right of a matrix is
// the rows of a product with its transpose.
static bool is_batched_product(const Node& node, bool left_varies, bool right_varies) {
  const size_t left = node.inputs[0].rank(), right = node.inputs[1].rank();
  return left_varies != right_varies && (left_varies ? left + right >= 2 : right == 1 && left == 2);
}

bool OverTurns::follows(const Node& node) const {
  if (node.inputs.empty() ||
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Expr& input) { return !is_known(input); }))
    return false;
  if (node.op->scalar || node.op == &dimshuffle_op() || node.op == &broadcast_to_op()) return true;
  return node.op == &dot_op() && is_batched_product(node, varies(node.inputs[0]), varies(node.inputs[1]));
}

void OverTurns::find(const std::vector<Expr>& roots) {
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
      fact.has_product |= has_product(input);
    }
    fact.has_product |= node->op == &dot_op();
    for (size_t o = 0; o < node->types.size(); ++o)
      if (fact.value = (*node)[o]; !is_known(fact.value)) facts_[key(fact.value)] = fact;
  }
}

// An operand of an elementwise node whose result has that rank in the body.
Expr OverTurns::aligned(const Expr& value, size_t rank) {
  const Expr out = outside(value);
  if (!varies(value) || value.rank() == rank) return out;
  std::vector<int64_t> order = {0};
  order.insert(order.end(), rank - value.rank(), -1);
  for (size_t i = 0; i < value.rank(); ++i) order.push_back(static_cast<int64_t>(i) + 1);
  return dimshuffle(out, order);
}

Expr OverTurns::made_product(const Node& node) {
  const Expr &a = node.inputs[0], &b = node.inputs[1];
  if (varies(b)) return dot(outside(b), transpose(outside(a)));  // [m, k] . [k] in each turn
  const Expr x = outside(a);
  if (a.rank() == 1) return dot(x, outside(b));
  const Expr rows = dot(reshape(x, {turns_ * a.dims()[0], a.dims()[1]}), outside(b));
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), turns_);
  return reshape(rows, lengths);
}

Expr OverTurns::made(const Node& node, size_t output) {
  InheritOrigin origin(node.origin);
  if (node.op == &dot_op() && varies(node[0])) return made_product(node);
  const size_t rank = node.types[output].rank();
  if (node.op == &dimshuffle_op() && varies(node[0])) {
    std::vector<int64_t> order = {0};
    for (int64_t axis : *axis_order_of(node)) order.push_back(axis < 0 ? -1 : axis + 1);
    return dimshuffle(outside(node.inputs[0]), order);
  }
  if (node.op == &broadcast_to_op() && varies(node[0])) {
    Dims lengths = node.types[0].dims;
    lengths.insert(lengths.begin(), turns_);
    return broadcast_to(aligned(node.inputs[0], rank), lengths);
  }
  std::vector<Expr> inputs;
  for (const Expr& input : node.inputs) inputs.push_back(node.op->scalar ? aligned(input, rank) : outside(input));
  return Expr(clone_with_inputs(node, std::move(inputs), node.bodies), output);
}

// Inputs first: the depth of what a body computes has no bound.
Expr OverTurns::outside(const Expr& value) {
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

Expr OverTurns::all(const Expr& value) {
  const Expr out = outside(value);
  if (varies(value)) return out;
  Dims lengths = value.dims();
  lengths.insert(lengths.begin(), turns_);
  return broadcast_to(out, lengths);
}

}  // namespace thtrain
