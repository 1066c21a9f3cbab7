// Where a call of a library computes.
#pragma once

#include <cstddef>
#include <functional>

#include "compiler/cuda/functions.h"

namespace thtrain::cuda {

/// The memory belongs to the stream: whatever works in it is behind what worked there before.
struct LibraryStream {
  CUstream_st* stream;
  std::function<DeviceAddress(size_t bytes)> workspace;  // at least so many, aligned to 256 bytes; until the next call
  std::function<void*(size_t bytes)> host_workspace;     // the same on the host
};

}  // namespace thtrain::cuda
