// The target of this process: the processor under it and what was measured of its memory, or what THTRAIN_TARGET
// forces.
#pragma once

#include <string>
#include <string_view>

#include "compiler/kernel/target.h"

namespace thtrain {

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// Processor, caches and cores are asked once; the memory is measured once for each machine (0.15 s) and remembered
/// next to the tuner's results. Where THTRAIN_TARGET forces the caches nothing is measured: then the usual limits hold.
/// All functions may be called from several threads. UserError where THTRAIN_TARGET or THTRAIN_VECTOR_BYTES is wrong.
kernel::Target machine();

/// What is known of where the memory limits of machine() come from.
enum class LimitsFrom { kMeasured, kRemembered, kRule, kForced, kRun };
LimitsFrom limits_from();

/// Measures the memory of this machine again and remembers that: what `thtrain tune` does. Nothing where the limits
/// were forced.
void measure_machine_again();

/// From here on this is the target, as if THTRAIN_TARGET forced it.
void use_target(kernel::Target target);

/// A run goes on with the memory limits that it began with: `text` is the Target::text() of then. Nothing happens where
/// it is no such text, or of another machine. Programs that were compiled before keep theirs.
void use_limits_of(std::string_view text);

}  // namespace thtrain
