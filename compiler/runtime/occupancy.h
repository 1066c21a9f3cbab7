// What the kernels of an explained function need of a device.
#pragma once

#include <string>

#include "compiler/runtime/function.h"

namespace thtrain {

/// Lines of comments, one for each kernel: threads, registers, memory, and the part of a multiprocessor's threads that
/// its blocks fill. Of the function's device; of compute capability 9.0 where that is the emulated one. They are
/// compiled for it by NVRTC; a line says so where that is not installed. Empty for a function of a processor.
std::string occupancy_text(const Explanation& explanation);

}  // namespace thtrain
