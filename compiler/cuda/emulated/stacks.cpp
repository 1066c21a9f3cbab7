#include "compiler/cuda/emulated/stacks.h"

#include <sys/mman.h>

#include <cstddef>

#include "compiler/base/error.h"

namespace thtrain::cuda::emulated {
namespace {

constexpr size_t kBytes = size_t{TH_STACK} * TH_MOST_THREADS;

class Stacks {
 public:
  Stacks()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    TH_CHECK(memory_ != MAP_FAILED, "no range of ", kBytes, " addresses for stacks");
  }
  ~Stacks() { munmap(memory_, kBytes); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  char* memory() const { return static_cast<char*>(memory_); }

 private:
  void* memory_;
};

}  // namespace

ThShare share_of(long& next) {
  thread_local const Stacks own;
  return {.stacks = own.memory(), .next = &next, .position = 0};
}

}  // namespace thtrain::cuda::emulated
