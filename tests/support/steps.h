// What a graph will be run as: the ops of its kernels and calls.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

using Steps = std::vector<std::string>;

/// Names of the nodes that are neither leaves nor views, in topological order.
inline Steps steps_of(const Graph& graph) {
  Steps out;
  for (const Node* node : topological_order(graph.roots()))
    if (!node->inputs.empty() && !is_view((*node)[0])) out.push_back(node->op->name);
  return out;
}

/// How many nodes of that op the graph has, those of its bodies left out.
inline size_t count_of(const Graph& graph, const std::string& op) {
  size_t out = 0;
  for (const Node* node : topological_order(graph.roots())) out += node->op->name == op;
  return out;
}

}  // namespace thtrain
