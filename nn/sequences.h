// Minibatches of sequences: data has them as [batch, steps, ...], padded to the longest one; layers as
// [steps, batch, ...]; objectives and metrics as rows [steps * batch, ...], one for each step.
#pragma once

#include "compiler/ir/node.h"

namespace thtrain {

/// [batch, steps, ...] -> [steps, batch, ...]
Expr time_major(const Expr& sequences);
/// [steps, batch, ...] -> [steps * batch, ...]: row t * batch + i is step t of example i.
Expr rows_of_steps(const Expr& sequences);
/// [steps * batch, ...] -> [steps, batch, ...]
Expr steps_of_rows(const Expr& rows, const Dim& steps, const Dim& batch);
/// lengths: integers [batch]; sequences: [steps, batch, ...]. Floats [steps, batch]: 1 at step t of example i where
/// t < lengths[i], else 0.
Expr step_mask(const Expr& lengths, const Expr& sequences, DType dtype);

}  // namespace thtrain
