#include "compiler/cuda/emulated/pinned_blocks.h"

#include <sys/mman.h>

#include <cstring>

namespace thtrain::cuda::emulated {

void PinnedBlocks::Unmap::operator()(char* block) const {
  munmap(block, bytes);
}

void* PinnedBlocks::allocate(size_t bytes) {
  void* const out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (out == MAP_FAILED) return nullptr;
  std::memset(out, 0xff, bytes);
  auto* const block = static_cast<char*>(out);
  blocks_.emplace(block, std::unique_ptr<char, Unmap>(block, Unmap{bytes}));
  return out;
}

bool PinnedBlocks::free(const void* block) {
  return blocks_.erase(static_cast<const char*>(block)) > 0;
}

bool PinnedBlocks::is_partly_outside(const void* address, size_t bytes) const {
  const char *begin = static_cast<const char*>(address), *end = begin + bytes;
  for (const auto& [block, owner] : blocks_) {
    const char* const behind = block + owner.get_deleter().bytes;
    if (begin < behind && block < end && (begin < block || behind < end)) return true;
  }
  return false;
}

}  // namespace thtrain::cuda::emulated
