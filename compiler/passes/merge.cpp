#include "compiler/passes/merge.h"

namespace thtrain {

Graph merge(const Graph& graph, const PassContext&) {
  return rewrite_graph(graph, nullptr);
}

}  // namespace thtrain
