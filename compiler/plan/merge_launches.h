// Kernels of a device that need nothing of each other, launched as one.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

/// k0; k1; k2 -> k0 with k2's blocks behind its own; k1, where k2 needs nothing of k1. A launch costs a device some
/// microseconds, more than many kernels take. Copies to the device come first; updates by elements are brought together
/// in the last of them, in one launch however many there are; other kernels join the first launch that they may be part
/// of. What they compute stays the same to the bit. Behind place_transfers(), before memory is laid out: what is
/// launched together lives together.
void merge_launches(Program& program);

}  // namespace thtrain
