// The allocator of tensors: aligned blocks, and a free list of large ones for the next of the same size.
#pragma once

#include <cstddef>

namespace thtrain {

/// Blocks of this size or more lie on pages of 2 MiB, where the system has them, and go to the free list: its pages
/// are zeroed at each allocation, which takes as long as an elementwise formula on them does.
inline constexpr size_t kLargeBlockBytes = size_t{1} << 20;
/// Of the free list, the last freed so many bytes keep their pages. The pages of what was freed before lie there for
/// the system to take when it is short of memory (MADV_FREE): until then they serve as well.
inline constexpr size_t kKeptPagesBytes = size_t{256} << 20;
/// At most so many bytes are in the free list: a quarter of the machine's memory, and no less than kKeptPagesBytes;
/// what was freed first is released first. Under a sanitizer there is none: it could not see a freed block used.
size_t free_list_limit();

/// At least `bytes` bytes, aligned to a cache line, of any content. std::bad_alloc where there are none. Thread-safe.
void* allocate_block(size_t bytes);
/// Frees a block of allocate_block(bytes).
void free_block(void* block, size_t bytes);
/// Bytes in the free list.
size_t free_list_bytes();

}  // namespace thtrain
