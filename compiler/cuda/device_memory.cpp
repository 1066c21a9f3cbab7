#include "compiler/cuda/device_memory.h"

#include <algorithm>
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
  settle_checks();
  stream_.copy(address_of(to), address_of(from), bytes);
}

void DeviceMemory::settle() const {
  const std::lock_guard turn(turn_);
  for (UnreadWork* const work : std::exchange(unread_, {})) {
    try {
      work->read();
    } catch (...) {
      if (!failed_) failed_ = std::current_exception();
    }
  }
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

void DeviceMemory::settle_checks(const UnreadWork* but) const {
  const std::lock_guard turn(turn_);
  const bool is_due = std::ranges::any_of(unread_, [&](UnreadWork* work) { return work != but && work->may_fail(); });
  if (failed_ || is_due) settle();
}

void DeviceMemory::leave(UnreadWork& work) const {
  if (!has_left(work)) unread_.push_back(&work);
}

bool DeviceMemory::has_left(const UnreadWork& work) const {
  return std::ranges::find(unread_, &work) != unread_.end();
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
