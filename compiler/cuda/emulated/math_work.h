// What the emulated libraries of mathematics have in common. Seen by the sources of this folder alone.
#pragma once

#include <cstring>
#include <vector>

#include "compiler/base/str.h"
#include "compiler/cuda/emulated/machine.h"
#include "compiler/ir/tensor.h"

namespace thtrain::cuda::emulated {

/// Rows of numbers in the memory of a device, `step` bytes apart; columns of a matrix that is stored so, for example.
struct DeviceRows {
  DeviceAddress at = 0;
  int64_t count = 0, step = 0, bytes = 0;  // of a row, and from one to the next

  size_t whole() const { return count == 0 || bytes == 0 ? 0 : static_cast<size_t>((count - 1) * step + bytes); }
  bool lies_in(const CUctx_st& context) const { return whole() == 0 || context.memory->holds(at, whole()); }
  bool is_written(const CUctx_st& context) const {
    bool out = true;
    for (int64_t i = 0; i < count && context.checker && bytes > 0; ++i)
      out = out && context.checker->is_written(row(i), static_cast<size_t>(bytes));
    return out;
  }
  void note_written(const CUctx_st& context) const {
    for (int64_t i = 0; i < count && context.checker && bytes > 0; ++i)
      context.checker->written(row(i), static_cast<size_t>(bytes));
  }
  DeviceAddress row(int64_t i) const { return at + static_cast<DeviceAddress>(i * step); }
  char* reached(const CUctx_st& context, int64_t i) const { return context.memory->reached(row(i)); }
  /// One row behind the other, and back.
  void read(const CUctx_st& context, void* to) const {
    for (int64_t i = 0; i < count && bytes > 0; ++i)
      std::memcpy(static_cast<char*>(to) + i * bytes, reached(context, i), static_cast<size_t>(bytes));
  }
  void write(const CUctx_st& context, const void* from) const {
    for (int64_t i = 0; i < count && bytes > 0; ++i)
      std::memcpy(reached(context, i), static_cast<const char*>(from) + i * bytes, static_cast<size_t>(bytes));
  }
};

/// Keeps of each float32 the 10 bits behind the point that TF32 has, rounded to nearest; of other dtypes all.
inline void round_to_tf32(Tensor& x) {
  if (x.dtype() != DType::kFloat32) return;
  for (int64_t i = 0; i < x.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, x.data<float>() + i, sizeof bits);
    if ((bits & 0x7f800000U) != 0x7f800000U) bits = (bits + 0xfffU + (bits >> 13 & 1U)) & ~0x1fffU;
    std::memcpy(x.data<float>() + i, &bits, sizeof bits);
  }
}

/// f(machine, context) where there is a context that nothing has spoiled; else one of the library's statuses.
template <class F>
Status in_library(Status no_context, Status spoiled, F f) {
  std::lock_guard lock(mutex());
  CUctx_st* const context = current_context();
  if (!context) return no_context;
  if (context->status != 0) return refuse(spoiled, context->complaint);
  return f(*machine(), *context);
}

/// Asks a stream for what a call of a library does. The kernels of `what`, which names a function with its shapes, are
/// loaded by the first call, which so must not be captured: it is refused with `status`.
inline Status ask(Machine& machine, CUctx_st& context, CUstream_st* handle, const std::string& what, Status status,
                  std::function<void()> run) {
  CUstream_st* const stream = found(machine.streams, handle, context);
  if (stream && stream->captured && !machine.loaded.contains(what)) {
    refused_in_capture(machine, "kernels that are loaded");
    return refuse(status, str(what, ": the first call is captured"));
  }
  machine.loaded.insert(what);
  return enqueue(machine, context, handle, std::move(run));
}

/// What a call was given in its capture may be gone when the graph is launched: that spoils the context.
inline bool is_there(CUctx_st& context, bool is_held) {
  if (is_held) return true;
  context.status = CUDA_ERROR_ILLEGAL_ADDRESS;
  context.complaint = "a library is launched in a graph, and memory that it was captured with is freed";
  return false;
}

}  // namespace thtrain::cuda::emulated
