// What kernels need of a multiprocessor, as their machine code says it, and how many blocks one runs at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace thtrain::cuda {

struct KernelResources {
  uint32_t registers = 0;  // of a thread
  uint32_t local = 0;      // bytes of a thread that lie in the device's memory: arrays, and what is spilled
  uint64_t shared = 0;     // bytes of a block
};

/// By the names of kernels. std::out_of_range where the bytes are no whole machine code.
std::map<std::string, KernelResources> kernel_resources(const std::string& cubin);

/// Of so many threads each, at the same time on one multiprocessor: CUDA C++ Programming Guide, table "Technical
/// Specifications per Compute Capability".
int resident_blocks(const KernelResources& kernel, int threads, int compute_capability);
/// That it has room for.
int resident_threads(int compute_capability);

}  // namespace thtrain::cuda
