// What generated code is made for: a processor with its vectors, caches and cores, scalar C99 for any, or a CUDA
// device. Who depends on the target asks it: schedules, dialects, maths, candidates, passes with limits, the tuner.
// docs/decisions/0013.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "compiler/ir/dtype.h"

namespace thtrain::kernel {

/// How loops over arrays reach memory. Measured where the code will run (compiler/host/memory_trials.h); it changes
/// the time of a loop, never its results. A line is one of the cache, of 64 bytes.
struct MemoryLimits {
  int64_t non_temporal_bytes = 0;  // a loop of one thread that touches more stores past the caches; 0: none does
  int store_prefetch_lines = 16;   // ahead of its stores, in a loop that stays in the caches; 0: none
  int load_prefetch_lines = 0;     // ahead of its loads, in a loop that stores past the caches; 0: none

  friend bool operator==(const MemoryLimits&, const MemoryLimits&) = default;
};

/// What kernels cost on this machine, in hundredths of a cycle: what the choice among implementations goes by where
/// none was timed, and what a thread's part is worth. Measured where the code will run (compiler/tuning/rate_trials.h),
/// and rounded to a quarter of an octave; without measuring they are as here, as they are on servers of Intel's.
struct KernelRates {
  int multiply_add = 50;                 // of vectors, where none waits for another
  int sum = 400;                         // of vectors, where each waits for the one before it
  int load = 50;                         // of a vector in the first cache
  int crossing_load = 100;               // of a vector that begins anywhere in a line of the cache
  int shuffle = 100;                     // of two vectors
  int second_line = 400;                 // a line that is read one after the other in the second cache
  int fetched_second_line = 200;         // the same, prefetched
  int third_line = 1400;                 // in the third cache, or in memory where there is none
  int fetched_third_line = 400;          // the same, prefetched
  int copied_line = 1000;                // a line that is read in the third cache and written to the second
  int memory_line = 1600;                // a line that is read one after the other in memory
  int apart_memory_line = 2800;          // one that lies far from the line before it
  int library_multiply_add = 57;         // of vectors, in a BLAS's product of matrices in the second cache
  int library_narrow_multiply_add = 50;  // of vectors, in its product of A^T and a B of few columns
  int library_line = 1000;               // a line of an operand that BLAS packs for a short product
  int library_call = 100'000;            // of the BLAS
  int wake = 409'600;                    // until another thread that waits for work has done a piece

  static constexpr size_t kCount = 17;
  std::array<int*, kCount> all();  // in this order
  std::array<int, kCount> values() const;

  friend bool operator==(const KernelRates&, const KernelRates&) = default;
};

/// Limits of the fusing passes, beyond which kernels apart are faster. In elements, but for the first.
struct FusionLimits {
  int64_t cached_bytes = 128 << 10;  // a value of at least so many is not found in the caches when it is read again
  int64_t strided_row = 1024;        // the longest row whose elements lie apart in memory
  // Such a row may be longer where it is made of runs of so many elements side by side, and where so many rows are
  // there for the threads.
  int64_t run = 64, rows_of_runs = 8;
  int64_t single_row = 1 << 14;  // the most that one row alone, the work of one thread, may write
  int64_t single_loads = 4096;   // the most that a fused loop loads by an index one by one: 60 labels gain half the
                                 // time, 10,000 lose a tenth
};

/// Of a CUDA device; these hold for every one since compute capability 7.5.
struct DeviceLimits {
  int threads = 1024;               // of a block
  int64_t shared_bytes = 48 << 10;  // of a block's shared arrays
  int warp = 32;                    // threads that run together
  bool has_libraries = true;        // rules may name functions of the device's libraries

  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};

/// In which programs are written: entries and kernels. The entry of kernels of CUDA C++ is C++.
enum class Language : uint8_t { kCpp, kC99, kCuda };

inline constexpr const char *kCudaIsa = "cuda", *kEmulatedIsa = "cuda-emulated";

struct Target {
  /// A processor is reached by C++ with explicit vectors, the library of vector maths, and libraries of functions.
  /// Scalar C99 has libm alone. A CUDA device, of NVIDIA or emulated on the host, has the functions of CUDA C++.
  enum class Kind : uint8_t { kCpu, kC99, kCuda };

  Kind kind = Kind::kCpu;
  std::string isa = "avx512";  // of a processor: x86-64's "avx512", "avx2" (with FMA), "sse2"; "arm64"; "other".
                               // of a device: "cuda", the first of NVIDIA; "cuda:1", the second; "cuda-emulated"
  int vector_bytes = 64;       // of a processor: 16, 32 or 64. Asked by the C++ dialect; others ask for lanes
  int64_t first_cache_bytes = 32 << 10;                  // of data
  int64_t second_cache_bytes = 0, last_cache_bytes = 0;  // a core's own second cache, and the third; 0 where unknown
  int cores = 1;
  MemoryLimits memory = {};
  KernelRates rates = {};
  DeviceLimits device = {};
  /// Is a call recorded, and then replayed? Then the steps of a program read and write the same addresses in each call,
  /// and nothing that changes from call to call is passed by value: docs/decisions/0019. A processor's are not: it
  /// reads arguments and slices where they lie. A device's are: its work is a graph.
  bool replays_calls = false;

  Language language() const;
  /// Do threads in blocks run its kernels?
  bool is_device() const { return kind == Kind::kCuda; }
  /// Is it one that the host emulates?
  bool is_emulated() const { return isa == kEmulatedIsa; }
  /// Of a device that is not emulated: its number, from 0.
  int device_number() const;
  bool has_vectors() const { return kind == Kind::kCpu; }
  /// Are there functions of libraries: BLAS, LAPACK, generators, those of candidates?
  bool has_libraries() const { return kind == Kind::kCpu; }
  bool is_x86() const;
  /// Is a multiply-add of floats, rounded once, one instruction?
  bool has_fma() const;
  /// Is a load of floats by a vector of indices one instruction?
  bool has_gathers() const;
  /// Vectors that a kernel may keep at hand; of a target without vectors, single elements.
  int registers() const;
  /// Of a whole vector of such elements; 1 where there are no vectors.
  int lanes_of(DType dtype) const { return lanes_of_bytes(size_of(dtype)); }
  int lanes_of_bytes(size_t element) const;
  /// Work that is worth waking a thread for: in simple operations, of which vectors do some 32 in a cycle, and in those
  /// of products, four times as many. Who computes an element follows from it, and never how a sum is cut.
  int64_t grain_of_work() const { return int64_t{rates.wake} * 8 / 25; }
  int64_t grain_of_products() const { return int64_t{rates.wake} * 625 / 512; }
  FusionLimits fusion_limits() const { return {}; }

  /// Is an array of so many bytes found in memory, and not in the last cache? A program touches others before it comes
  /// back to it.
  bool is_in_memory(double bytes) const {
    return last_cache_bytes > 0 && 3 * bytes > static_cast<double>(last_cache_bytes);
  }
  /// A loop of so many threads that touches more bytes stores past the caches; 0: none does.
  int64_t non_temporal_threshold(int threads) const;
  /// "isa=avx512,vectors=64,caches=32K/1M/32M,cores=2,non_temporal=20M,store_prefetch=0,load_prefetch=32,rates=50/...",
  /// "isa=c99,cores=2", "isa=cuda:1,cores=2" or "isa=cuda-emulated,cores=2"
  std::string text() const;
  /// The same without what was measured of kernels.
  Target with_usual_rates() const;
  /// What measured times of implementations depend on, besides the processor and the threads: "vectors of 64 bytes".
  std::string code_name() const;

  friend bool operator==(const Target&, const Target&) = default;
};

/// The processor whose kernels need most memory on the stack: what fits it fits all.
const Target& widest_target();
/// Scalar C99, run by so many threads.
Target c99_target(int cores = 1);
/// The CUDA device of that number, and one that the host emulates. `cores` are of the host.
Target cuda_target(int number = 0, int cores = 1);
Target emulated_cuda_target(int cores = 1);

/// "32K", "20M", "1000": bytes as the texts of targets have them.
std::string size_text(int64_t bytes);

}  // namespace thtrain::kernel
