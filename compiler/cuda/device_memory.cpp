#include "compiler/cuda/device_memory.h"

namespace thtrain::cuda {

DeviceMemory::DeviceMemory(const Device& device, std::string name)
    : AddressSpace(std::move(name)), device_(device), stream_(device) {}

void* DeviceMemory::allocate(size_t bytes) const {
  return reinterpret_cast<void*>(allocate_memory(device_, bytes));
}

void DeviceMemory::release(void* block, size_t) const {
  free_memory(device_, address_of(block));
}

void DeviceMemory::read(void* host, const void* from, size_t bytes) const {
  std::lock_guard lock(mutex_);
  stream_.copy_out(host, address_of(from), bytes);
  stream_.wait();
}

void DeviceMemory::write(void* to, const void* host, size_t bytes) const {
  std::lock_guard lock(mutex_);
  stream_.copy_in(address_of(to), host, bytes);
  stream_.wait();
}

}  // namespace thtrain::cuda
