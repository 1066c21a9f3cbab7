// What the processor under this process can do, and how many cores the process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/host/target_text.h"

namespace thtrain {

struct Cpu {
  std::string architecture;  // "x86-64", "arm64", or what the compiler's target says
  std::string vendor;        // "GenuineIntel", "AuthenticAMD"; empty where unknown
  std::string model;         // the name that the processor gives itself; empty where unknown
  int family = 0;            // x86's display family and model
  int model_number = 0;
  bool avx2 = false, fma = false;
  bool avx512f = false, avx512dq = false, avx512vl = false, avx512bw = false;
  /// The instructions that generated code uses, a kernel::Target's isa: all that the processor has, or
  /// THTRAIN_TARGET's.
  std::string isa = "other";
  /// Bytes of a vector that generated code uses: 64 with AVX-512 (all four parts, and saved by the kernel), 32 with
  /// AVX2 and FMA, else 16. The environment's THTRAIN_VECTOR_BYTES (16, 32 or 64) or THTRAIN_TARGET overrides it.
  int vector_bytes = 16;
  /// Of data, a core's own second one, and the third; 0 where unknown.
  int64_t first_cache_bytes = 0, second_cache_bytes = 0, last_cache_bytes = 0;
  /// Cores that this process may use: its affinity mask, and the quota of its control group; at least 1.
  int cores = 1;
  /// One line for keys of caches: everything that code compiled for "native" may depend on. It does not hold `cores`.
  std::string feature_text;

  bool has_avx512() const { return avx512f && avx512dq && avx512vl && avx512bw; }
  /// The isa that has all of the processor's instructions.
  std::string widest_isa() const;
};

/// Asks the processor anew, with `vector_bytes_override` (the text of THTRAIN_VECTOR_BYTES, may be null) and what
/// THTRAIN_TARGET says of instructions, vectors, caches and cores. UserError where the override is none of 16, 32, 64,
/// where the two differ, and where either wants what an x86-64 does not have.
Cpu detect_cpu(const char* vector_bytes_override, const TargetParts& forced = {});

/// What THTRAIN_TARGET says; nothing where it is not set or empty.
const TargetParts& forced_target();

/// The processor, asked once for each process.
const Cpu& cpu();

namespace detail {
/// The cores that "quota period" or "max period" of a control group's cpu.max allow, rounded up; none for "max".
std::optional<int> cores_of_quota(const std::string& text);
}  // namespace detail

}  // namespace thtrain
