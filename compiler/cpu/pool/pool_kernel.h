// Native code of the pooling ops.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain {

/// How a kernel works: columns of the windows first, in a buffer; windows in registers with all of their elements,
/// where Pooling::has_taps(); or the positions of all maxima first, where Pooling::has_positions().
enum class PoolForm : uint8_t { kColumns, kTaps, kPositions };

/// Any of the five ops, in that form.
void lower_pool_as(kernel::StepBuilder& b, PoolForm form);
/// max_pool(x), max_pool_pick(x, g), or sum_pool(x).
void lower_pooled(kernel::StepBuilder& b, PoolForm form);
/// max_pool_gradient(x, dy), or sum_pool_gradient(dy), by columns or taps.
void lower_pool_gradient(kernel::StepBuilder& b, PoolForm form);
/// max_pool_gradient(x, dy) by positions.
void lower_pool_positions(kernel::StepBuilder& b);

}  // namespace thtrain
