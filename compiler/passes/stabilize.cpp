#include "compiler/passes/stabilize.h"

#include "compiler/passes/rules.h"

namespace thtrain {

Graph stabilize(const Graph& graph, const PassContext& context) {
  const Graph stable = apply_rules(graph, stable_rules(), context, "stabilize", canonical_rules());
  return apply_rules(stable, last_rules(), context, "stabilize");
}

}  // namespace thtrain
