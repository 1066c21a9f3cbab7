// Elementwise expressions whose results are stored straight into a part of another value.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"

namespace thtrain {

/// An op made from a body graph: a scatter (an op with Op::scatter) whose elements follow from elementwise nodes. The
/// body's first inputs are the scatter's, in their order; instead of its elements is one of those that they follow
/// from, and the others come after. Made by the pass `fuse_scatters`.
const Op& fused_scatter_op();
/// `scatter` with the elements that `loop`, a fused node of one output without reads through an index, computes from
/// its inputs.
std::shared_ptr<const Node> make_fused_scatter(const Node& scatter, const Node& loop);

}  // namespace thtrain
