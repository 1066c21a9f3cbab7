#include "compiler/passes/stabilize.h"

#include "compiler/passes/rules.h"

namespace thtrain {

Graph stabilize(const Graph& graph, const PassContext& context) {
  return apply_rules(graph, stable_rules(), context, "stabilize");
}

}  // namespace thtrain
