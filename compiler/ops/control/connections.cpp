#include "compiler/ops/control/connections.h"

#include "compiler/ir/node_map.h"

namespace thtrain {

bool differentiable(const Type& type) {
  return type.kind == TypeKind::kTensor && (is_float(type.dtype) || is_complex(type.dtype));
}

Connections::Connections(const Node& node) : node_(node) {
  if (const auto* of_bodies = node.op->connection.target<ConnectionsOfBodies>()) table_ = of_bodies->table(node);
}

bool Connections::operator()(size_t input, size_t output) const {
  if (!differentiable(node_.inputs[input].type()) || !differentiable(node_.types[output])) return false;
  return table_.empty() ? is_connected(node_, input, output) : table_[input][output];
}

ConnectionTable connections_of(const Graph& body) {
  const size_t inputs = body.inputs.size();
  // Of each output of a node whether it depends on each input of the body; empty: on none.
  NodeMap<std::vector<std::vector<bool>>> sources;
  auto sources_of = [&](const Expr& value) -> const std::vector<bool>* {
    const std::vector<std::vector<bool>>* of_node = sources.find(&value.node());
    return of_node && !(*of_node)[value.output()].empty() ? &(*of_node)[value.output()] : nullptr;
  };
  for (size_t i = 0; i < inputs; ++i) {
    std::vector<bool> own(inputs);
    own[i] = true;
    if (differentiable(body.inputs[i].type())) sources[&body.inputs[i].node()] = {std::move(own)};
  }
  for (const Node* node : topological_order(body.outputs)) {
    std::vector<std::vector<bool>> made;
    std::optional<Connections> connected;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const std::vector<bool>* given = sources_of(node->inputs[i]);
      if (!given) continue;
      if (!connected) {
        connected.emplace(*node);
        made.resize(node->types.size());
      }
      for (size_t o = 0; o < made.size(); ++o) {
        if (!(*connected)(i, o)) continue;
        made[o].resize(inputs);
        for (size_t k = 0; k < inputs; ++k)
          if ((*given)[k]) made[o][k] = true;
      }
    }
    if (connected) sources[node] = std::move(made);
  }
  ConnectionTable out(inputs, std::vector<bool>(body.outputs.size()));
  for (size_t o = 0; o < body.outputs.size(); ++o)
    if (const std::vector<bool>* given = sources_of(body.outputs[o]))
      for (size_t i = 0; i < inputs; ++i) out[i][o] = (*given)[i];
  return out;
}

}  // namespace thtrain
