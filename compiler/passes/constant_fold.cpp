#include "compiler/passes/constant_fold.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {

constexpr int64_t kLargest = 4096;  // elements

static bool folds(const Node& node, const std::vector<Expr>& inputs) {
  if (node.op == &constant_op() || node.is_leaf() || !node.op->foldable || node.op->has_effect || !node.bodies.empty())
    return false;
  if (!std::all_of(inputs.begin(), inputs.end(), is_constant)) return false;
  for (const Type& type : node.types)
    if (type.kind != TypeKind::kTensor || !type.is_known() || type.elements().value() > kLargest) return false;
  // Without inputs (length, eye, arange) the properties say all, once their lengths are known.
  for (const auto& [name, value] : node.props.all())
    if (const Dims* dims = std::get_if<Dims>(&value))
      if (!std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.is_known(); })) return false;
  return true;
}

Graph constant_fold(const Graph& graph, const PassContext& context) {
  const std::vector<const Node*> order = topological_order(graph.roots());
  if (std::ranges::none_of(order, [](const Node* node) { return folds(*node, node->inputs); })) return graph;
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!folds(node, inputs)) return {};
    std::vector<Tensor> values;
    for (const Expr& input : inputs) values.push_back(*constant_value(input));
    std::vector<Expr> out;
    for (const Tensor& value : evaluate_node(node, values, Lengths())) out.push_back(make_constant(value));
    context.note("constant_fold", "constant_fold", node[0], out[0]);
    return out;
  });
}

}  // namespace thtrain
