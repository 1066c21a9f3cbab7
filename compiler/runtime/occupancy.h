// What the kernels of an explained function need of a device.
#pragma once

#include <string>
#include <vector>

#include "compiler/cuda/kernel_resources.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// Of one kernel, by its name in the text.
struct KernelOccupancy {
  std::string kernel;
  int threads = 0;  // of a block
  cuda::KernelResources needs;
  int blocks = 0;     // that a multiprocessor runs at the same time
  int64_t share = 0;  // of its threads that they fill, in percent
};

/// Of a function's device; of compute capability 9.0 where that is the emulated one.
struct Occupancy {
  std::string trouble = {};   // why nothing is known: NVRTC is not installed; else empty
  int capability = 0;         // 90 for 9.0
  std::string compiler = {};  // "NVRTC 13.0"
  std::vector<KernelOccupancy> kernels = {};
};

/// Kernels are compiled for it. Empty for a function of a processor.
Occupancy occupancy_of(const Explanation& explanation);
/// Lines of comments, one for each kernel.
std::string occupancy_text(const Explanation& explanation);

}  // namespace thtrain
