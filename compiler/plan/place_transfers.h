// Which buffers of a device's program lie in its memory, and the transfers between it and the host.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

/// What kernels touch lies on the device, and outputs of PlanOptions::internal_outputs; the rest on the host. Of the
/// caller's inputs and other outputs, and of variables
/// that stay on the host (Shared::keep_on_host()), kernels have copies there. What the host reads of the device
/// (arguments of references, lengths that steps define, conditions) is copied by a step of its own before, and what a
/// reference has computed for kernels behind it. A value that the host has a copy of, as long as the device does not
/// change it, is not copied again; what a loop does not change is copied before the loop.
void place_transfers(Program& program);

}  // namespace thtrain
