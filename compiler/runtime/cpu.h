// What the processor under this process can do, and how many cores the process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thtrain {

struct Cpu {
  std::string architecture;  // "x86-64", "arm64", or what the compiler's target says
  std::string vendor;        // "GenuineIntel", "AuthenticAMD"; empty where unknown
  std::string model;         // the name that the processor gives itself; empty where unknown
  int family = 0;            // x86's display family and model
  int model_number = 0;
  bool avx2 = false, fma = false;
  bool avx512f = false, avx512dq = false, avx512vl = false, avx512bw = false;
  /// Bytes of a vector that generated code uses: 64 with AVX-512 (all four parts, and saved by the kernel), 32 with
  /// AVX2 and FMA, else 16. The environment's THTRAIN_VECTOR_BYTES (16, 32 or 64) overrides it.
  int vector_bytes = 16;
  int64_t core_cache_bytes = 0, last_cache_bytes = 0;  // a core's own second cache, and the third; 0 where unknown
  /// Cores that this process may use: its affinity mask, and the quota of its control group; at least 1.
  int cores = 1;
  /// One line for keys of caches: everything that code compiled for "native" may depend on. It does not hold `cores`.
  std::string feature_text;

  bool has_avx512() const { return avx512f && avx512dq && avx512vl && avx512bw; }
  /// A loop of so many threads that touches more bytes does better to store its results past the caches, even if they
  /// are read at once. 0 where the sizes are unknown: none does. docs/decisions/0008.
  int64_t non_temporal_threshold(int threads) const;
};

/// Asks the processor anew, with `vector_bytes_override` (the text of THTRAIN_VECTOR_BYTES, may be null).
/// UserError where the override is none of 16, 32, 64, or wider than an x86-64's own.
Cpu detect_cpu(const char* vector_bytes_override);

/// The processor, asked once for each process.
const Cpu& cpu();

namespace detail {
/// The cores that "quota period" or "max period" of a control group's cpu.max allow, rounded up; none for "max".
std::optional<int> cores_of_quota(const std::string& text);
}  // namespace detail

}  // namespace thtrain
