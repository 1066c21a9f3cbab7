// Native code of the pooling ops.
#pragma once

#include "compiler/ir/layout.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain {

/// max_pool(x), or max_pool_pick(x, g).
void lower_max_pool(kernel::StepBuilder& b);
void lower_max_pool_gradient(kernel::StepBuilder& b);
void lower_sum_pool(kernel::StepBuilder& b);
void lower_sum_pool_gradient(kernel::StepBuilder& b);

/// Op::accepts_layout: row-major inputs only.
inline bool takes_row_major(const Node& node, size_t input, const Layout& layout) {
  return is_row_major(node.inputs[input].dims(), layout);
}

}  // namespace thtrain
