// A CUDA device as the runtime uses it: memory, streams, events, kernels, by the functions of a driver or of the
// emulated one. A status that is not 0 is an InternalError that names function, status and what the driver says; memory
// that runs out is a UserError. Everything of a device ends before the device.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/cuda/functions.h"

namespace thtrain::cuda {

/// Holds the device's context.
class Device {
 public:
  /// In a second at most: floating-point operations, multiply-adds counted as two, and bytes of its memory.
  struct Ceilings {
    double flops32 = 0, flops64 = 0, bytes = 0;
  };
  Device(const Driver& driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return driver_; }
  CUctx_st* context() const { return context_; }
  size_t bytes() const;                // of its memory
  int compute_capability() const;      // 90 for 9.0
  std::string name() const;            // "NVIDIA H200"
  std::string driver_version() const;  // "13.0"
  /// By its attributes: its multiprocessors at their highest clock, without tensor cores, and the clock and the width
  /// of its memory.
  Ceilings ceilings() const;
  /// From here on, calls of this thread are of this device. All below do it by themselves.
  void use() const;
  /// Until all streams have done their work.
  void wait() const;

 private:
  int attribute(Attribute attribute) const;

  const Driver& driver_;
  DeviceNumber number_ = 0;
  CUctx_st* context_ = nullptr;
};

inline DeviceAddress address_of(const void* block) {
  return reinterpret_cast<DeviceAddress>(block);
}

/// 0 for no bytes. UserError where the memory has run out.
DeviceAddress allocate_memory(const Device& device, size_t bytes);
void free_memory(const Device& device, DeviceAddress address);

/// Memory of a device, which the host cannot touch.
class DeviceBuffer {
 public:
  DeviceBuffer(const Device& device, size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  DeviceAddress address() const { return address_; }  // 0 where it has no bytes
  size_t bytes() const { return bytes_; }

 private:
  const Device& device_;
  size_t bytes_ = 0;
  DeviceAddress address_ = 0;
};

/// Page-locked memory of the host: a device copies it while host and kernels are at work. UserError where there is
/// none.
class PinnedBuffer {
 public:
  PinnedBuffer(const Device& device, size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  char* data() const { return static_cast<char*>(data_); }  // null where it has no bytes
  size_t bytes() const { return bytes_; }

 private:
  const Device& device_;
  size_t bytes_ = 0;
  void* data_ = nullptr;
};

/// A point in the work of a stream.
class Event {
 public:
  explicit Event(const Device& device, bool has_time = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Until the work before its last recording is done.
  void wait() const;
  /// Between the last recordings of two that have times, and that are done.
  double seconds_since(const Event& begin) const;
  CUevent_st* handle() const { return handle_; }

 private:
  const Device& device_;
  CUevent_st* handle_ = nullptr;
};

/// Kernels in machine code.
class Module {
 public:
  Module(const Device& device, const std::string& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  CUfunc_st* kernel(const char* name) const;

 private:
  const Device& device_;
  CUmod_st* handle_ = nullptr;
};

/// Work in its order, which is done at some time before wait() returns: until then the host's memory of a copy must
/// stay as it is.
class Stream {
 public:
  explicit Stream(const Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void copy_in(DeviceAddress to, const void* from, size_t bytes);
  void copy_out(void* to, DeviceAddress from, size_t bytes);
  void copy(DeviceAddress to, DeviceAddress from, size_t bytes);
  void fill(DeviceAddress to, unsigned char value, size_t bytes);
  void record(const Event& event);
  void wait_for(const Event& event);
  /// Arguments have the very types of the kernel's parameters; a pointer's is DeviceAddress. They are copied.
  template <class... Arguments>
  void launch(CUfunc_st* kernel, unsigned blocks, unsigned threads, Arguments... arguments) {
    void* parameters[] = {&arguments..., nullptr};
    launch_with(kernel, blocks, threads, parameters);
  }
  void launch_with(CUfunc_st* kernel, unsigned blocks, unsigned threads, void** parameters);
  void launch(CUgraphExec_st* graph);
  void wait();
  CUstream_st* handle() const { return handle_; }

 private:
  const Device& device_;
  CUstream_st* handle_ = nullptr;
};

}  // namespace thtrain::cuda
