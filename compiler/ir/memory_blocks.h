// The memory of tensors: aligned blocks, of which large freed ones are kept for the next of the same size.
#pragma once

#include <cstddef>

namespace thtrain {

/// Blocks of this size or more lie on pages of 2 MiB, where the system has them, and are kept when they are freed: its
/// pages are zeroed anew each time, which takes as long as an elementwise formula on them does.
inline constexpr size_t kLargeBlockBytes = size_t{1} << 20;
/// At most so much is kept; what was freed first is given back first. Under a sanitizer nothing is: it could not see a
/// freed block used.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr size_t kMaxFreeListBytes = 0;
#else
inline constexpr size_t kMaxFreeListBytes = size_t{256} << 20;
#endif

/// At least `bytes` bytes, aligned to a cache line, of any content. std::bad_alloc where there are none. Thread-safe.
void* allocate_block(size_t bytes);
/// Ends the life of a block of allocate_block(bytes).
void free_block(void* block, size_t bytes);
/// Bytes that are kept now.
size_t free_list_bytes();

}  // namespace thtrain
