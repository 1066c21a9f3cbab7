// Offsets of temporaries in the arena: buffers that do not live at the same time share bytes.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

/// Fills Buffer::arena_offset of the temporaries and gives the arena's size. Known sizes are packed largest first at
/// the lowest offset that is free for their whole life; sizes that a call decides reuse the place of a dead buffer of
/// the same size. Every offset is a multiple of 64 bytes.
MemoryPlan plan_memory(Program& program);

}  // namespace thtrain
