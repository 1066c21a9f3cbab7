// Convolutions take in the pooling of their results.
#pragma once

#include "compiler/passes/pass.h"

namespace thtrain {

/// max_pool(conv(x, w)) -> pooled_conv(x, w), with elementwise nodes between them: where nobody else reads what lies
/// between, and the context's chooser says that one kernel computes it. Exact.
Graph fuse_pooling(const Graph& graph, const PassContext& context);

}  // namespace thtrain
