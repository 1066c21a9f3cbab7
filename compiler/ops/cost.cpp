#include "compiler/ops/cost.h"

namespace thtrain {

Dim bytes_of(const Type& type) {
  if (type.kind != TypeKind::kTensor) return 0;
  return type.elements() * Dim(static_cast<int64_t>(size_of(type.dtype)));
}

Cost cost_of(const Node& node) {
  if (node.op->cost) return node.op->cost(node);
  Cost out;
  for (const Expr& input : node.inputs) out.bytes = out.bytes + bytes_of(input.type());
  for (const Type& type : node.types) out.bytes = out.bytes + bytes_of(type);
  return out;
}

}  // namespace thtrain
