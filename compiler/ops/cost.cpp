#include "compiler/ops/cost.h"

#include "compiler/ir/graph.h"

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
  for (const Expr& input : node.inputs) out.bytes = out.bytes + bytes_of(input.type());
  for (const Type& type : node.types) out.bytes = out.bytes + bytes_of(type);
  if (node.op->fused)
    for (const Node* inner : topological_order(node.bodies[0]->outputs))
      if (!inner->inputs.empty()) out.flops = out.flops + cost_of(*inner).flops;
  return out;
}

}  // namespace thtrain
