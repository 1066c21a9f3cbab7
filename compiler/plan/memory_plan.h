// Offsets of temporaries in the arena: buffers that do not live at the same time share bytes.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

/// From the first step that reads or writes a buffer to the last one; -1 where none does. The beginning and the end of
/// a loop count as steps. A temporary of the loop's body is live within an iteration; a buffer from outside the loop
/// that its body reads or writes is live through the whole loop.
struct LiveRange {
  int first = -1, last = -1;
};
/// The live range of every buffer.
std::vector<LiveRange> live_ranges_of(const Program& program);

/// Fills Buffer::arena_offset of the temporaries and gives the arena's size. Buffers of known size are placed largest
/// first, at the lowest offset that is free for their whole live range. A buffer whose size a call decides takes the
/// offset of one of equal size that is not live any more. Every offset is a multiple of 64 bytes. What a device's
/// program has on the host is placed in an arena of its own.
MemoryPlan plan_memory(Program& program);

/// UserError where a value of known lengths is larger than the processor's addresses reach.
void require_fits(const Type& type);

}  // namespace thtrain
