#include "compiler/cuda/emulated/stacks.h"

#include <sys/mman.h>

#include <cstddef>

#include "compiler/base/error.h"

namespace thtrain::cuda::emulated {
namespace {

class Stacks {
 public:
  Stacks() = default;
  ~Stacks() { release(); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  char* of(int threads) {
    const size_t bytes = size_t{TH_STACK} * static_cast<size_t>(threads);
    if (bytes <= bytes_) return static_cast<char*>(memory_);
    release();
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TH_CHECK(memory_ != MAP_FAILED, "no range of ", bytes, " addresses for stacks");
    bytes_ = bytes;
    return static_cast<char*>(memory_);
  }

 private:
  void release() {
    if (bytes_ > 0) munmap(memory_, bytes_);
    bytes_ = 0;
  }
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

ThShare share_of(int threads, long& next) {
  thread_local Stacks own;
  return {.stacks = own.of(threads), .next = &next, .position = 0};
}

}  // namespace thtrain::cuda::emulated
