// What the nodes of a graph are made of, laid out as the driver's CUDA_KERNEL_NODE_PARAMS_v2 and CUDA_MEMCPY3D. Under
// names of ours: a program may see the driver's own, too.
#pragma once

#include "compiler/cuda/functions.h"

namespace thtrain::cuda {

struct KernelNode {
  CUfunc_st* kernel = nullptr;
  unsigned blocks = 1, grid_y = 1, grid_z = 1, threads = 1, block_y = 1, block_z = 1, shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* library_kernel = nullptr;
  CUctx_st* context = nullptr;

  const CUDA_KERNEL_NODE_PARAMS_v2_st* theirs() const {
    return reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v2_st*>(this);
  }
};

/// Of bytes in one line.
struct CopyNode {
  struct From {
    size_t x = 0, y = 0, z = 0, level = 0;
    unsigned type = 0;
    const void* host = nullptr;
    DeviceAddress device = 0;
    void *array = nullptr, *reserved = nullptr;
    size_t pitch = 0, height = 0;
  } from;
  struct To {
    size_t x = 0, y = 0, z = 0, level = 0;
    unsigned type = 0;
    void* host = nullptr;
    DeviceAddress device = 0;
    void *array = nullptr, *reserved = nullptr;
    size_t pitch = 0, height = 0;
  } to;
  size_t bytes = 0, rows = 1, planes = 1;

  static CopyNode in(DeviceAddress to, const void* from, size_t bytes) {
    return {.from = {.type = CU_MEMORYTYPE_HOST, .host = from, .pitch = bytes},
            .to = {.type = CU_MEMORYTYPE_DEVICE, .device = to, .pitch = bytes},
            .bytes = bytes};
  }
  static CopyNode within(DeviceAddress to, DeviceAddress from, size_t bytes) {
    return {.from = {.type = CU_MEMORYTYPE_DEVICE, .device = from, .pitch = bytes},
            .to = {.type = CU_MEMORYTYPE_DEVICE, .device = to, .pitch = bytes},
            .bytes = bytes};
  }
  static CopyNode out(void* to, DeviceAddress from, size_t bytes) {
    return {.from = {.type = CU_MEMORYTYPE_DEVICE, .device = from, .pitch = bytes},
            .to = {.type = CU_MEMORYTYPE_HOST, .host = to, .pitch = bytes},
            .bytes = bytes};
  }
  const CUDA_MEMCPY3D_st* theirs() const { return reinterpret_cast<const CUDA_MEMCPY3D_st*>(this); }
};

}  // namespace thtrain::cuda
