// Stacks for the threads of an emulated block.
#pragma once

#include "compiler/codegen/device_text/module_abi.h"

namespace thtrain::cuda::emulated {

/// For blocks of so many threads, on this thread of the host; `next` counts the blocks of the launch. The stacks stay
/// until the thread ends: new ones cost calls of the system.
ThShare share_of(int threads, long& next);

}  // namespace thtrain::cuda::emulated
