// The emulated device: the functions of functions.h on the host. Its kernels are CUDA C++ that the host's compiler has
// compiled (nvrtc.cpp), and run by fibers, blocks of a launch side by side on all cores.
//
// It is stricter than a device, so that what is wrong there is wrong here in each run:
//   - the host cannot touch device memory: that ends the process by SIGSEGV;
//   - a stream does nothing before somebody waits: until then a copy reads and writes the host's memory as it is;
//   - streams that do not wait for each other run in an order drawn by a seed;
//   - copies and pointers that a launch is given lie within one allocation of the current device, or are null;
//   - a launch has one dimension, at most 1024 threads a block and no shared memory beyond what the kernel declares;
//   - there is no default stream.
// With Options::checks each load and store of a kernel is checked (checker.h says for what).
// A kernel that touches what is not its own, or whose threads wait for each other in vain, spoils the context: each
// further call has that status, until the context is released. cuGetErrorString says what a refused call has done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/cuda/functions.h"

namespace thtrain::cuda::emulated {

// Variables of the environment. UserError for a value that is none of theirs.

/// THTRAIN_EMULATED_STREAMS; 0 without it.
uint64_t seed_of_streams();
/// THTRAIN_EMULATED_ORDER, which kernels read.
void check_order();
/// THTRAIN_EMULATED_BYTES, at least 4096; 4 GiB without it.
size_t bytes_of_device();
/// THTRAIN_EMULATED_CHECKS: 1 is true, 0 is false; false without it.
bool wants_checks();

/// A load or a store of a kernel.
struct Touch {
  const std::string& where;  // "parameter 0", "the shared array sums"
  size_t offset, bytes;      // from its beginning
  bool is_read;
  long block;
  int thread;
};

struct Options {
  int devices = 1;
  size_t bytes = bytes_of_device();   // of each device
  uint64_t seed = seed_of_streams();  // of their order; THTRAIN_EMULATED_ORDER is that of blocks and threads
  bool checks = wants_checks();       // of kernels, which run far longer
  std::function<void(const Touch&)> on_touch = {};  // with checks: learns of each load and store
};

/// From here on a machine with these devices: what there was of others is gone.
void start(const Options& options);

/// Any thread may call, after start() or without.
const Driver& driver();
/// Its "machine code" is C++ for driver(), made by the host's compiler and kept in its cache.
const Nvrtc& nvrtc();

}  // namespace thtrain::cuda::emulated
