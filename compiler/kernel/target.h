// What generated code is made for: instructions, vectors, caches and cores, and what was measured of the memory.
// docs/decisions/0013.
#pragma once

#include <cstdint>
#include <string>

namespace thtrain::kernel {

/// How loops over arrays reach memory. Measured where the code will run (compiler/host/memory_trials.h); it changes
/// the time of a loop, never its results. A line is one of the cache, of 64 bytes.
struct MemoryLimits {
  int64_t non_temporal_bytes = 0;  // a loop of one thread that touches more stores past the caches; 0: none does
  int store_prefetch_lines = 16;   // ahead of its stores, in a loop that stays in the caches; 0: none
  int load_prefetch_lines = 0;     // ahead of its loads, in a loop that stores past the caches; 0: none

  friend bool operator==(const MemoryLimits&, const MemoryLimits&) = default;
};

struct Target {
  std::string isa = "avx512";  // x86-64's "avx512", "avx2" (with FMA), "sse2"; "arm64"; "other"
  int vector_bytes = 64;
  int64_t first_cache_bytes = 32 << 10;                  // of data
  int64_t second_cache_bytes = 0, last_cache_bytes = 0;  // a core's own second cache, and the third; 0 where unknown
  int cores = 1;
  MemoryLimits memory = {};

  /// A loop of so many threads that touches more bytes stores past the caches; 0: none does.
  int64_t non_temporal_threshold(int threads) const;
  /// "isa=avx512,vectors=64,caches=32K/1M/32M,cores=2,non_temporal=20M,store_prefetch=0,load_prefetch=32"
  std::string text() const;

  friend bool operator==(const Target&, const Target&) = default;
};

/// "32K", "20M", "1000": bytes as the texts of targets have them.
std::string size_text(int64_t bytes);

}  // namespace thtrain::kernel
