#include "compiler/runtime/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace thtrain {
namespace {

constexpr unsigned char kGuard = 0xC5;
constexpr size_t kZoneBytes = 64 << 10, kAlignment = 64;

size_t up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes, uint8_t fill) : bytes_(bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = up(kZoneBytes, page) + up(bytes, kAlignment) + kZoneBytes;
  mapped_bytes_ = up(inner, page) + 2 * page;
  void* mapped = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapped_ = static_cast<unsigned char*>(mapped);
  begin_ = mapped_ + page;
  end_ = mapped_ + mapped_bytes_ - page;
  data_ = begin_ + up(kZoneBytes, page);
  mprotect(mapped_, page, PROT_NONE);
  mprotect(end_, page, PROT_NONE);
  std::memset(begin_, kGuard, static_cast<size_t>(end_ - begin_));
  std::memset(data_, fill, bytes);
}

GuardedMemory::~GuardedMemory() {
  munmap(mapped_, mapped_bytes_);
}

size_t GuardedMemory::reached_behind() const {
  const unsigned char* first = data_ + bytes_;
  for (const unsigned char* at = end_; at > first; --at)
    if (at[-1] != kGuard) return static_cast<size_t>(at - first);
  return 0;
}

size_t GuardedMemory::reached_before() const {
  for (const unsigned char* at = begin_; at < data_; ++at)
    if (*at != kGuard) return static_cast<size_t>(data_ - at);
  return 0;
}

}  // namespace thtrain
