// What ends a run, edited since its checkpoint: epochs, patience, time and tolerances.
#pragma once

#include "trainers/run/context.h"
#include "trainers/run/training.h"

namespace thtrain {

/// A training that was restored from this checkpoint goes by the limits that its experiment has now: one that had ended
/// goes on where they leave room. UserError where it has done more epochs than it is to have, and where it had ended
/// and what was edited leaves it so.
void take_limits(Training& training, const RunContext& context, const Checkpoint& checkpoint);

}  // namespace thtrain
