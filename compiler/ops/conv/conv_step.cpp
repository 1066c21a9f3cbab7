#include "compiler/ops/conv/conv_step.h"

#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

bool conv_accepts_layout(const Node& node, size_t input, const Layout& layout) {
  const bool is_filters = node.op == &conv_op() ? input == 1 : node.op == &conv_input_gradient_op() && input == 0;
  return is_filters || is_row_major(node.inputs[input].dims(), layout);
}

void lower_conv(kernel::StepBuilder& builder) {
  const std::optional<Convolution> known = known_convolution(builder.node());
  if (known) return lower_chosen(builder, key_of(*known));
  lower_conv_loops(builder);
}

}  // namespace thtrain
