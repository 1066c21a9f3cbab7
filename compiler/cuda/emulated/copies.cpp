// The emulated driver's memory: of the device, page-locked of the host, and copies between them.
#include <cstring>

#include "compiler/base/str.h"
#include "compiler/cuda/emulated/machine.h"

namespace thtrain::cuda::emulated {
namespace {

Status allocate(DeviceAddress* address, size_t bytes) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (const Status status = refused_in_capture(m, "an allocation"); status != CUDA_SUCCESS) return status;
    if (bytes == 0) return refuse(CUDA_ERROR_INVALID_VALUE, "an allocation of no bytes");
    *address = context.memory->allocate(bytes);
    if (*address && context.checker) context.checker->allocated(*address, bytes);
    if (*address) return CUDA_SUCCESS;
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, str("no room for ", bytes, " bytes of ", context.memory->bytes()));
  });
}

// Work that may use the memory comes to its end first.
Status free_memory(DeviceAddress address) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (const Status status = refused_in_capture(m, "memory that is freed"); status != CUDA_SUCCESS) return status;
    drain(m, context);
    if (address != 0 && !context.memory->free(address))
      return refuse(CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
    if (context.checker) context.checker->freed(address);
    return CUDA_SUCCESS;
  });
}

Status no_memory(const char* what, size_t bytes) {
  return refuse(CUDA_ERROR_INVALID_VALUE, str(what, " has no ", bytes, " bytes in one allocation of the device"));
}

Status copy_in(DeviceAddress to, const void* from, size_t bytes, CUstream_st* stream) {
  return in_context([&](Machine& m, CUctx_st& c) {
    std::function<void()> run;
    const Status status = copy_in_work(c, to, from, bytes, run);
    return status == CUDA_SUCCESS ? enqueue(m, c, stream, std::move(run)) : status;
  });
}

Status copy_out(void* to, DeviceAddress from, size_t bytes, CUstream_st* stream) {
  return in_context([&](Machine& m, CUctx_st& c) {
    std::function<void()> run;
    const Status status = copy_out_work(c, to, from, bytes, run);
    return status == CUDA_SUCCESS ? enqueue(m, c, stream, std::move(run)) : status;
  });
}

Status copy(DeviceAddress to, DeviceAddress from, size_t bytes, CUstream_st* stream) {
  return in_context([&](Machine& m, CUctx_st& c) {
    std::function<void()> run;
    const Status status = copy_within_work(c, to, from, bytes, run);
    return status == CUDA_SUCCESS ? enqueue(m, c, stream, std::move(run)) : status;
  });
}

Status fill(DeviceAddress to, unsigned char value, size_t bytes, CUstream_st* stream) {
  return in_context([&](Machine& m, CUctx_st& c) {
    if (!c.memory->holds(to, bytes)) return no_memory("the destination", bytes);
    return enqueue(m, c, stream, [=, &c] {
      std::memset(c.memory->reached(to), value, bytes);
      if (c.checker) c.checker->written(to, bytes);
    });
  });
}

// ---- page-locked memory of the host

Status allocate_pinned(void** block, size_t bytes, unsigned flags) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (const Status status = refused_in_capture(m, "an allocation"); status != CUDA_SUCCESS) return status;
    if (bytes == 0 || flags != 0)
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "page-locked memory of no bytes, or with flags that thtrain does not use");
    *block = context.pinned.allocate(bytes);
    return *block ? CUDA_SUCCESS : refuse(CUDA_ERROR_OUT_OF_MEMORY, str("no ", bytes, " bytes of page-locked memory"));
  });
}

// Copies that use it come to their end first.
Status free_pinned(void* block) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (const Status status = refused_in_capture(m, "memory that is freed"); status != CUDA_SUCCESS) return status;
    drain(m, context);
    if (context.pinned.free(block)) return CUDA_SUCCESS;
    return refuse(CUDA_ERROR_INVALID_VALUE, "no page-locked memory begins there");
  });
}

bool leaves_its_block(const CUctx_st& c, const void* host, size_t bytes) {
  return c.pinned.is_partly_outside(host, bytes);
}
Status no_block(size_t bytes) {
  return refuse(CUDA_ERROR_INVALID_VALUE, str("of ", bytes, " bytes of the host only some are in page-locked memory"));
}

}  // namespace

Status copy_in_work(CUctx_st& c, DeviceAddress to, const void* from, size_t bytes, std::function<void()>& run) {
  if (!c.memory->holds(to, bytes)) return no_memory("the destination", bytes);
  if (leaves_its_block(c, from, bytes)) return no_block(bytes);
  run = [=, &c] {
    std::memcpy(c.memory->reached(to), from, bytes);
    if (c.checker) c.checker->written(to, bytes);
  };
  return CUDA_SUCCESS;
}

Status copy_out_work(CUctx_st& c, void* to, DeviceAddress from, size_t bytes, std::function<void()>& run) {
  if (!c.memory->holds(from, bytes)) return no_memory("the source", bytes);
  if (leaves_its_block(c, to, bytes)) return no_block(bytes);
  run = [=, &c] {
    std::memcpy(to, c.memory->reached(from), bytes);
    if (!c.checker || c.checker->is_written(from, bytes)) return;
    c.status = CUDA_ERROR_LAUNCH_FAILED;
    c.complaint = str("the host is given ", bytes, " bytes that nobody has written, or some of them");
  };
  return CUDA_SUCCESS;
}

Status copy_within_work(CUctx_st& c, DeviceAddress to, DeviceAddress from, size_t bytes, std::function<void()>& run) {
  if (!c.memory->holds(to, bytes)) return no_memory("the destination", bytes);
  if (!c.memory->holds(from, bytes)) return no_memory("the source", bytes);
  if (to < from + bytes && from < to + bytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, "source and destination have bytes in common");
  run = [=, &c] {
    std::memcpy(c.memory->reached(to), c.memory->reached(from), bytes);
    if (c.checker) c.checker->copied(to, from, bytes);
  };
  return CUDA_SUCCESS;
}

void add_memory(Driver& driver) {
  driver.cuMemAlloc_v2 = allocate;
  driver.cuMemFree_v2 = free_memory;
  driver.cuMemcpyHtoDAsync_v2 = copy_in;
  driver.cuMemcpyDtoHAsync_v2 = copy_out;
  driver.cuMemcpyDtoDAsync_v2 = copy;
  driver.cuMemsetD8Async = fill;
  driver.cuMemHostAlloc = allocate_pinned;
  driver.cuMemFreeHost = free_pinned;
}

}  // namespace thtrain::cuda::emulated
