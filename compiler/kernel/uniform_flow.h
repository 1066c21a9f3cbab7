// Which statements of a device's function do all threads of a block, or of a warp, reach together?
#pragma once

#include <string>

#include "compiler/kernel/statement.h"

namespace thtrain::kernel {

/// A barrier or shuffle to which not all threads come that wait in it, as a sentence: it lies within a branch or loop
/// whose condition or bounds differ from thread to thread, or behind a check that single threads may fail. Empty: none.
/// Judged from the terms: what is loaded from memory that the function writes differs from thread to thread, and
/// `thread` divided by whole warps does not within a warp. An element of a shared array is the same for all threads
/// that load it between two barriers, unless it is stored there too, which is a race. Linear in the number of terms,
/// for each nesting of loops that hand such a value on.
std::string broken_uniformity(const Function& function, int warp);

}  // namespace thtrain::kernel
