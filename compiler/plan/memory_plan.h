// Offsets of temporaries in the arena: buffers that do not live at the same time share bytes.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

/// From the first step that touches a buffer to the last one; -1 where none does. The beginning and the end of a loop
/// count as steps. A temporary of the loop's body lives within a turn; what exists outside the loop and is touched in
/// it lives through the whole of it.
struct LiveRange {
  int first = -1, last = -1;
};
/// Of every buffer.
std::vector<LiveRange> live_ranges_of(const Program& program);

/// Fills Buffer::arena_offset of the temporaries and gives the arena's size. Known sizes are packed largest first at
/// the lowest offset that is free for their whole live range; sizes that a call decides reuse the place of a dead
/// buffer of the same size. Every offset is a multiple of 64 bytes.
MemoryPlan plan_memory(Program& program);

}  // namespace thtrain
