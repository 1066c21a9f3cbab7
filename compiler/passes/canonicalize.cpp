#include "compiler/passes/canonicalize.h"

#include "compiler/passes/rules.h"

namespace thtrain {

Graph canonicalize(const Graph& graph, const PassContext& context) {
  return apply_rules(graph, canonical_rules(), context, "canonicalize");
}

}  // namespace thtrain
