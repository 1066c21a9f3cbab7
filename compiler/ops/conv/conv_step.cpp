#include "compiler/ops/conv/conv_step.h"

#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/convolution.h"
#include "compiler/ops/shape/shape.h"

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

template <size_t kImages>
static bool images_alone_vary(const Node&, const std::vector<bool>& varies) {
  return varies[kImages] && !varies[1 - kImages];
}

template <size_t kImages>
static Expr conv_of_all_images(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                               const std::vector<bool>&) {
  auto merged = [&](Dims lengths) {
    lengths[0] = iterations * lengths[0];
    return lengths;
  };
  std::vector<Expr> now(inputs.begin(), inputs.end());
  now[kImages] = reshape(inputs[kImages], merged(node.inputs[kImages].dims()));
  const Expr all = apply(*node.op, std::move(now), node.props);
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), iterations);
  return reshape(all, lengths);
}

const IterationsRule kConvOfIterations{.applies = images_alone_vary<0>, .all = conv_of_all_images<0>};
const IterationsRule kConvInputGradientOfIterations{.applies = images_alone_vary<1>, .all = conv_of_all_images<1>};

}  // namespace thtrain
