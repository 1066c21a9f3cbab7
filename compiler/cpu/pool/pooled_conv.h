// A convolution that is pooled in its kernel, with the elementwise expressions before and after the pooling.
#pragma once

#include <memory>

#include "compiler/ir/graph.h"
#include "compiler/kernel/choice.h"

namespace thtrain {

/// An op made from a body graph with one conv, elementwise nodes over its result, one max_pool or sum_pool of that, and
/// elementwise nodes over what is pooled; all lengths of the convolution are known. Its outputs are the body's, each as
/// long as what is pooled. Made by the passes `fuse_pooling` and `fuse_epilogues`.
const Op& pooled_conv_op();
/// Outputs of the body on `inputs`.
std::shared_ptr<const Node> make_pooled_conv(GraphPtr body, std::vector<Expr> inputs);

/// Is it one whose input a kernel may pool: max_pool or sum_pool?
bool is_pooling(const Node& node);
/// Does the chooser say that one kernel computes `conv` and the pooling of its result, or of elementwise nodes over it?
bool is_pooled_in_one_kernel(const Node& conv, const Node& pooling, const kernel::Chooser& chooser);

}  // namespace thtrain
