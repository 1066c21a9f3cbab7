#include "compiler/ir/op.h"

#include <algorithm>

#include "compiler/ir/graph.h"
#include "compiler/ir/node_map.h"

namespace thtrain {

Access access_of(const Node& node, size_t input) {
  const Op& op = *node.op;
  if (op.access) return op.access(node, input);
  if (op.scalar) return Access::kElement;
  if (op.gather) return Access::kIndexed;
  if (op.fused) return access_through(*node.bodies[0], input);
  return Access::kWhole;
}

Access access_through(const Graph& body, size_t input) {
  NodeMap<Access> reads;  // of the nodes that depend on the input
  reads.try_emplace(&body.inputs[input].node(), Access::kElement);
  for (const Node* node : topological_order(body.outputs))
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Access* below = reads.find(&node->inputs[i].node());
      if (!below) continue;
      const Access through = std::max(*below, access_of(*node, i));
      auto [at, fresh] = reads.try_emplace(node, through);
      if (!fresh) at = std::max(at, through);
    }
  Access out = Access::kElement;
  for (const Expr& e : body.outputs)
    if (const Access* access = reads.find(&e.node())) out = std::max(out, *access);
  return out;
}

const Alias* view_rule(const Op& op, size_t output) {
  for (const Alias& alias : op.aliases)
    if (alias.output == output && alias.view) return &alias;
  return nullptr;
}

bool is_view(const Expr& value) {
  return view_rule(*value.node().op, value.output()) != nullptr;
}

const Expr& viewed_by(const Expr& view) {
  return view.node().inputs[view_rule(*view.node().op, view.output())->input];
}

std::string name_in_errors(const Op& op, const Props& props) {
  return op.called ? op.called(props) : op.name;
}

const std::vector<int64_t>* axis_order_of(const Node& node) {
  return node.op->axis_order ? &node.op->axis_order(node) : nullptr;
}

bool is_connected(const Node& node, size_t input, size_t output) {
  return !node.op->connection || node.op->connection(node, input, output);
}

}  // namespace thtrain
