#include "compiler/ops/elemwise/scalar_table.h"

#include "compiler/ops/registry.h"

namespace thtrain {

const std::vector<const ScalarOp*>& scalar_ops() {
  static const std::vector<const ScalarOp*> records = [] {
    std::vector<const ScalarOp*> out;
    for (const Op* op : elementwise_ops()) out.push_back(op->scalar);
    return out;
  }();
  return records;
}

const std::vector<const Op*>& elementwise_ops() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> out;
    for (const Op* op : all_ops())
      if (op->scalar) out.push_back(op);
    return out;
  }();
  return ops;
}

}  // namespace thtrain
