// The memory of a device as an address space, in which tensors and shared variables lie.
#pragma once

#include <mutex>

#include "compiler/cuda/device.h"
#include "compiler/ir/storage.h"

namespace thtrain::cuda {

class DeviceMemory : public AddressSpace {
 public:
  /// The device lives as long.
  DeviceMemory(const Device& device, std::string name);

  /// UserError where the memory has run out, with the bytes that it was asked for.
  void* allocate(size_t bytes) const override;
  void release(void* block, size_t bytes) const override;
  /// By a stream of their own: other streams must have done what they do with these bytes.
  void read(void* host, const void* from, size_t bytes) const override;
  void write(void* to, const void* host, size_t bytes) const override;

 private:
  const Device& device_;
  mutable std::mutex mutex_;
  mutable Stream stream_;
};

}  // namespace thtrain::cuda
