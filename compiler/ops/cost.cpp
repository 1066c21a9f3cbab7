#include "compiler/ops/cost.h"

#include "compiler/ir/graph.h"
#include "compiler/ops/index/gather.h"

namespace thtrain {
namespace {

Dim bytes_of(const Type& type) {
  if (type.kind != TypeKind::kTensor) return 0;
  return type.elements() * Dim(static_cast<int64_t>(size_of(type.dtype)));
}

}  // namespace

Cost cost_of(const Node& node) {
  if (node.op->cost) return node.op->cost(node);
  Cost out;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (!node.op->fused || !is_gathered(node, i)) out.bytes = out.bytes + bytes_of(node.inputs[i].type());
  for (const Type& type : node.types) out.bytes = out.bytes + bytes_of(type);
  if (!node.op->fused) return out;
  for (const Node* inner : topological_order(node.bodies[0]->outputs)) {
    if (!inner->inputs.empty()) out.flops = out.flops + cost_of(*inner).flops;
    if (reads_through_index(*inner))
      out.bytes = out.bytes + bytes_of(inner->types[0]) + bytes_of(inner->inputs[1].type());
  }
  return out;
}

}  // namespace thtrain
