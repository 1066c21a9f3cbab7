// A convolution, or its gradient to the images, and the elementwise expressions over its results, in one kernel.
#pragma once

#include <memory>

#include "compiler/ir/graph.h"

namespace thtrain {

/// An op made from a body graph with one conv or conv_input_gradient and elementwise nodes over its result; all lengths
/// of the convolution are known. Its outputs are the body's, each as long as the convolution's. Made by the pass
/// `fuse_epilogues`.
const Op& fused_conv_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_fused_conv(GraphPtr body, std::vector<Expr> inputs);

}  // namespace thtrain
