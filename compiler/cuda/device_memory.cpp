#include "compiler/cuda/device_memory.h"

#include <cstring>
#include <utility>

namespace thtrain::cuda {

DeviceMemory::DeviceMemory(const Device& device, std::string name)
    : AddressSpace(std::move(name)), device_(device), stream_(device), arrivals_(device), small_(device, 16 * kSmall) {}

void* DeviceMemory::allocate(size_t bytes) const {
  return reinterpret_cast<void*>(allocate_memory(device_, bytes));
}

void DeviceMemory::release(void* block, size_t) const {
  free_memory(device_, address_of(block));
}

void DeviceMemory::read(void* host, const void* from, size_t bytes) const {
  const std::lock_guard turn(turn_);
  settle();
  stream_.copy_out(host, address_of(from), bytes);
  stream_.wait();
}

void DeviceMemory::write(void* to, const void* host, size_t bytes) const {
  const std::lock_guard turn(turn_);
  if (bytes > kSmall) {
    stream_.copy_in(address_of(to), host, bytes);
    return stream_.wait();
  }
  constexpr size_t kAlignment = 64;
  if (small_used_ + bytes > small_.bytes()) {
    stream_.wait();
    small_used_ = 0;
  }
  char* const kept = small_.data() + small_used_;
  std::memcpy(kept, host, bytes);
  stream_.copy_in(address_of(to), kept, bytes);
  small_used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void DeviceMemory::copy(void* to, const void* from, size_t bytes) const {
  const std::lock_guard turn(turn_);
  settle();
  stream_.copy(address_of(to), address_of(from), bytes);
}

void DeviceMemory::settle() const {
  const std::lock_guard turn(turn_);
  UnreadWork* const work = std::exchange(unread_, nullptr);
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  if (work) work->read();
}

void DeviceMemory::settle_later(UnreadWork& work) const {
  const std::lock_guard turn(turn_);
  if (!has_left(work)) return;
  try {
    settle();
  } catch (...) {
    failed_ = std::current_exception();
  }
}

}  // namespace thtrain::cuda
