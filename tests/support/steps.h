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

}  // namespace thtrain
