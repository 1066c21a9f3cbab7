// How the steps of the pooling ops are lowered: by a chosen candidate, whose kernels are those of compiler/cpu/pool/.
#pragma once

#include "compiler/ir/layout.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// Any of the five ops, by the candidate that is chosen.
void lower_pool(kernel::StepBuilder& b);

/// Op::accepts_layout: row-major inputs only.
inline bool takes_row_major(const Node& node, size_t input, const Layout& layout) {
  return is_row_major(node.inputs[input].dims(), layout);
}

}  // namespace thtrain
