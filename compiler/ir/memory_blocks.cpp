#include "compiler/ir/memory_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <mutex>
#include <new>

namespace thtrain {
namespace {

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;

struct FreeBlock {
  void* block;
  size_t bytes;
  bool keeps_pages = true;
};

struct Pool {
  std::mutex mutex;
  std::list<FreeBlock> free_blocks;  // the last freed in front
  size_t bytes = 0;
};

// Never destroyed: tensors in static variables are freed when the program ends.
Pool& pool() {
  static Pool* once = new Pool;
  return *once;
}

size_t rounded(size_t bytes) {
  const size_t alignment = bytes < kLargeBlockBytes ? kLine : kHugePage;
  return std::max(kLine, (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace

void* allocate_block(size_t bytes) {
  const bool large = bytes >= kLargeBlockBytes;
  const size_t size = rounded(bytes);
  if (large) {
    Pool& p = pool();
    std::lock_guard lock(p.mutex);
    auto at =
        std::find_if(p.free_blocks.begin(), p.free_blocks.end(), [&](const FreeBlock& k) { return k.bytes == size; });
    if (at != p.free_blocks.end()) {
      void* block = at->block;
      p.bytes -= size;
      p.free_blocks.erase(at);
      return block;
    }
  }
  // Pages of 2 MiB for what is large: a product's tiles touch a page in each row, more than the processor's tables hold
  // of small ones (a step of three 1,000x1,000 layers at batch 1 takes a tenth less).
  void* block = std::aligned_alloc(large ? kHugePage : kLine, size);
  if (!block) throw std::bad_alloc();
  if (large) madvise(block, size, MADV_HUGEPAGE);  // advice: a refusal changes no result
  return block;
}

// Lets the system take the pages of all but the last freed kKeptPagesBytes.
static void offer_pages(Pool& p) {
  size_t kept = 0;
  for (FreeBlock& k : p.free_blocks) {
    kept += k.bytes;
    if (kept <= kKeptPagesBytes || !k.keeps_pages) continue;
    madvise(k.block, k.bytes, MADV_FREE);  // advice: where it is refused, the pages stay
    k.keeps_pages = false;
  }
}

void free_block(void* block, size_t bytes) {
  const size_t size = rounded(bytes), limit = free_list_limit();
  if (bytes < kLargeBlockBytes || size > limit) return std::free(block);
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  p.free_blocks.push_front({block, size});
  p.bytes += size;
  while (p.bytes > limit) {
    std::free(p.free_blocks.back().block);
    p.bytes -= p.free_blocks.back().bytes;
    p.free_blocks.pop_back();
  }
  if (p.bytes > kKeptPagesBytes) offer_pages(p);
}

size_t free_list_limit() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  static const size_t limit = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    const size_t memory = pages > 0 && bytes > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(bytes) : 0;
    return std::max(kKeptPagesBytes, memory / 4);
  }();
  return limit;
#endif
}

size_t free_list_bytes() {
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  return p.bytes;
}

}  // namespace thtrain
