#include "compiler/kernel/target.h"

#include <algorithm>

#include "compiler/base/str.h"

namespace thtrain::kernel {

int64_t Target::non_temporal_threshold(int threads) const {
  return memory.non_temporal_bytes == 0 ? 0 : std::max(second_cache_bytes * threads, memory.non_temporal_bytes);
}

std::string size_text(int64_t bytes) {
  if (bytes > 0 && bytes % (1 << 20) == 0) return str(bytes >> 20, "M");
  if (bytes > 0 && bytes % (1 << 10) == 0) return str(bytes >> 10, "K");
  return std::to_string(bytes);
}

std::string Target::text() const {
  return str("isa=", isa, ",vectors=", vector_bytes, ",caches=", size_text(first_cache_bytes), "/",
             size_text(second_cache_bytes), "/", size_text(last_cache_bytes), ",cores=", cores,
             ",non_temporal=", size_text(memory.non_temporal_bytes), ",store_prefetch=", memory.store_prefetch_lines,
             ",load_prefetch=", memory.load_prefetch_lines);
}

}  // namespace thtrain::kernel
