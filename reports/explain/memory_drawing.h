// The memory plan as a picture: which temporary has which bytes of the arena, from which step to which.
#pragma once

#include <string>

#include "compiler/plan/program.h"

namespace thtrain {

/// One <svg> element: steps run to the right, the arena's bytes downwards; each temporary is a rectangle with its name,
/// lengths and live range as <title>. Bytes are not to scale: small buffers are drawn larger, and the offsets where
/// buffers begin and end are written at the side. Empty where there are no temporaries, or where a call decides their
/// offsets. Classes: buffer, b0 to b5, axis, grid.
std::string memory_drawing(const Program& program);

}  // namespace thtrain
