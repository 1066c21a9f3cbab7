#include "compiler/passes/solve_for_inverses.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/op.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/linalg/linalg.h"

namespace thtrain {
namespace {

bool is_product(const Node& node) {
  return node.op == &batched_dot_op() ||
         (node.op == &dot_op() && std::max(node.inputs[0].rank(), node.inputs[1].rank()) == 2);
}

}  // namespace

Graph solve_for_inverses(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::none_of(order, [](const Node* node) { return node->op == &solution_op(); })) return graph;
  std::unordered_map<const Node*, int> readers;
  for (const Expr& root : graph.roots()) readers[&root.node()] += 2;  // the caller reads it, whoever else does
  for (const Node* node : order)
    for (const Expr& input : node->inputs) ++readers[&input.node()];
  const auto is_read_once = [&](const Expr& x) { return readers.at(&x.node()) == 1; };
  std::unordered_set<const Node*> factored;
  for (const Node* node : order)
    if (node->op == &lu_op()) factored.insert(&node->inputs[0].node());
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op == &solution_op()) {
      const Expr& a = node.inputs[1];
      if (a.node().inputs.empty() || !factored.contains(&a.node().inputs[0].node())) return {};
      const Expr out = by_factors_of_transpose(node, inputs);
      if (!out.has_value() || !(out.type() == node.types[0])) return {};
      context.note("solve_for_inverses", node.op->name, node[0], out, Safety::kReassociating);
      return {out};
    }
    if (!is_product(node) || !solution_of_product(node.inputs[0], node.inputs[1], is_read_once).has_value()) return {};
    const Expr out = solution_of_product(inputs[0], inputs[1], [](const Expr&) { return true; });
    if (!out.has_value() || !(out.type() == node.types[0])) return {};
    context.note("solve_for_inverses", node.op->name, node[0], out, Safety::kReassociating);
    return {out};
  });
}

}  // namespace thtrain
