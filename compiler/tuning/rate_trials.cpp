#include "compiler/tuning/rate_trials.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "compiler/base/ceil_div.h"
#include "compiler/base/clock.h"
#include "compiler/base/error.h"
#include "compiler/host/memory_trials.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/threads.h"

namespace thtrain {

using kernel::KernelRates;
using kernel::Target;

int detail::rounded_rate(double hundredths) {
  const double steps = std::round(4 * std::log2(std::max(hundredths, 1.0) / 100));
  return std::max(1, static_cast<int>(std::lround(100 * std::exp2(steps / 4))));
}

#ifdef __x86_64__
namespace {

constexpr int64_t kLine = 64;

// The loops are in assembly: what is timed must not depend on how this file is compiled. Each runs `rounds` times
// through instructions whose number it returns.
#define TH_REGISTERS \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "cc"
#define TH_TWELVE(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)

// Additions that wait for each other.
int64_t chain(int64_t rounds) {
  int64_t sum = 0, one = 1;
  int64_t left = rounds;
  asm volatile(
      "1:\n\tadd %2, %1\n\tadd %2, %1\n\tadd %2, %1\n\tadd %2, %1\n\tadd %2, %1\n\tadd %2, %1\n\tadd %2, %1\n\t"
      "add %2, %1\n\tdec %0\n\tjnz 1b"
      : "+r"(left), "+r"(sum)
      : "r"(one)
      : "cc");
  return 8 * rounds;
}

#define TH_CLEAR(I) "vxorps %%xmm" #I ", %%xmm" #I ", %%xmm" #I "\n\t"

// Loops with registers of one width: REGISTER is "ymm" or "zmm".
#define TH_RATE_LOOPS(REGISTER)                                                                             \
  struct Loops_##REGISTER {                                                                                 \
    static int64_t multiply_adds(int64_t rounds) {                                                          \
      int64_t left = rounds;                                                                                \
      asm volatile(TH_TWELVE(TH_CLEAR) "vxorps %%xmm12, %%xmm12, %%xmm12\n1:\n\t" TH_TWELVE(                \
                       TH_MULTIPLY_##REGISTER) "dec %0\n\tjnz 1b\n\tvzeroupper"                             \
                   : "+r"(left)::TH_REGISTERS);                                                             \
      return 12 * rounds;                                                                                   \
    }                                                                                                       \
    static int64_t sums(int64_t rounds) {                                                                   \
      int64_t left = rounds;                                                                                \
      asm volatile(TH_CLEAR(0) TH_CLEAR(12) "1:\n\t" TH_MULTIPLY_##REGISTER(0) TH_MULTIPLY_##REGISTER(0)    \
                       TH_MULTIPLY_##REGISTER(0) TH_MULTIPLY_##REGISTER(0) "dec %0\n\tjnz 1b\n\tvzeroupper" \
                   : "+r"(left)::TH_REGISTERS);                                                             \
      return 4 * rounds;                                                                                    \
    }                                                                                                       \
    static int64_t loads(const char* from, int64_t rounds) {                                                \
      int64_t left = rounds;                                                                                \
      asm volatile("1:\n\t" TH_TWELVE(TH_LOAD_##REGISTER) "dec %0\n\tjnz 1b\n\tvzeroupper"                  \
                   : "+r"(left)                                                                             \
                   : "r"(from)                                                                              \
                   : TH_REGISTERS, "memory");                                                               \
      return 12 * rounds;                                                                                   \
    }                                                                                                       \
    static int64_t shuffles(int64_t rounds) {                                                               \
      int64_t left = rounds;                                                                                \
      asm volatile(TH_CLEAR(12) "1:\n\t" TH_TWELVE(TH_SHUFFLE_##REGISTER) "dec %0\n\tjnz 1b\n\tvzeroupper"  \
                   : "+r"(left)::TH_REGISTERS);                                                             \
      return 12 * rounds;                                                                                   \
    }                                                                                                       \
  };
#define TH_MULTIPLY_ymm(I) "vfmadd231ps %%ymm12, %%ymm12, %%ymm" #I "\n\t"
#define TH_MULTIPLY_zmm(I) "vfmadd231ps %%zmm12, %%zmm12, %%zmm" #I "\n\t"
#define TH_LOAD_ymm(I) "vmovups 32*" #I "(%1), %%ymm" #I "\n\t"
#define TH_LOAD_zmm(I) "vmovups 64*" #I "(%1), %%zmm" #I "\n\t"
#define TH_SHUFFLE_ymm(I) "vunpcklps %%ymm12, %%ymm12, %%ymm" #I "\n\t"
#define TH_SHUFFLE_zmm(I) "vunpcklps %%zmm12, %%zmm12, %%zmm" #I "\n\t"
TH_RATE_LOOPS(ymm)
TH_RATE_LOOPS(zmm)
#undef TH_RATE_LOOPS

// Reads whole lines one after the other, or copies them; prefetching what comes a kilobyte later.
int64_t read_lines(const char* from, int64_t bytes, bool fetches) {
  const char *at = from, *end = from + bytes;
  if (fetches)
    asm volatile(
        "1:\n\tprefetcht0 1024(%0)\n\tvmovups (%0), %%ymm0\n\tvmovups 32(%0), %%ymm1\n\tadd $64, %0\n\tcmp %1, %0\n\t"
        "jb 1b\n\tvzeroupper"
        : "+r"(at)
        : "r"(end)
        : TH_REGISTERS, "memory");
  else
    asm volatile(
        "1:\n\tvmovups (%0), %%ymm0\n\tvmovups 32(%0), %%ymm1\n\tadd $64, %0\n\tcmp %1, %0\n\tjb 1b\n\tvzeroupper"
        : "+r"(at)
        : "r"(end)
        : TH_REGISTERS, "memory");
  return bytes / kLine;
}

int64_t copy_lines(const char* from, char* to, int64_t bytes) {
  const char *at = from, *end = from + bytes;
  asm volatile(
      "1:\n\tvmovups (%0), %%ymm0\n\tvmovups 32(%0), %%ymm1\n\tvmovups %%ymm0, (%1)\n\tvmovups %%ymm1, 32(%1)\n\t"
      "add $64, %0\n\tadd $64, %1\n\tcmp %2, %0\n\tjb 1b\n\tvzeroupper"
      : "+r"(at), "+r"(to)
      : "r"(end)
      : TH_REGISTERS, "memory");
  return bytes / kLine;
}

// Reads all lines of `bytes`, a power of two, each of which lies in another page than the one before it.
int64_t read_lines_apart(const char* from, int64_t bytes) {
  const char *at = from, *end = from + bytes;
  int64_t left = bytes / kLine;
  asm volatile(
      "1:\n\tvmovups (%0), %%ymm0\n\tvmovups 32(%0), %%ymm1\n\tadd $4160, %0\n\tcmp %2, %0\n\tjb 2f\n\t"
      "sub %3, %0\n2:\n\tdec %1\n\tjnz 1b\n\tvzeroupper"
      : "+r"(at), "+r"(left)
      : "r"(end), "r"(bytes)
      : TH_REGISTERS, "memory");
  return bytes / kLine;
}
#undef TH_REGISTERS

// ---- the trials

struct RateTrial {
  int* rate;  // that becomes the hundredths of a cycle for one of what `run` counts
  std::function<int64_t()> run;
  std::function<void()> prepare = {};                        // is not timed
  double seconds = std::numeric_limits<double>::infinity();  // for one, in the fastest round

  void time() {
    if (prepare) prepare();
    const double begin = seconds_now();
    const int64_t count = run();
    seconds = std::min(seconds, (seconds_now() - begin) / static_cast<double>(count));
  }
};

// The trials of a round follow one another, so that a busy moment hits one round of each.
void run_rate_rounds(std::vector<RateTrial>& trials, double seconds) {
  constexpr int kLeast = 5;
  const double until = seconds_now() + seconds;
  for (int done = 0; done < kLeast || seconds_now() < until; ++done)
    for (RateTrial& trial : trials) trial.time();
}

struct Free {
  void operator()(char* block) const { std::free(block); }
};

class Rates {
 public:
  explicit Rates(const Target& target) : target_(target) {
    const int64_t second = target.second_cache_bytes;
    near_ = second / 2;
    far_ = std::clamp(target.last_cache_bytes / 4, 2 * second, 8 * second);
    constexpr int64_t kHugePage = 2 << 20;  // as memory_blocks.cpp asks for large arrays
    const auto bytes = static_cast<size_t>(ceil_div(std::max(far_ + near_, kMemoryBytes), kHugePage) * kHugePage);
    block_.reset(static_cast<char*>(std::aligned_alloc(kHugePage, bytes)));
    if (!block_) throw std::bad_alloc();
    madvise(block_.get(), bytes, MADV_HUGEPAGE);
    std::fill(block_.get(), block_.get() + bytes, 0);
  }

  KernelRates measured() {
    if (target_.lanes_of(DType::kFloat32) == 16)
      add_loops<Loops_zmm>();
    else
      add_loops<Loops_ymm>();
    run_rate_rounds(trials_, 0.003);
    add_lines();
    run_rate_rounds(trials_, 0.006);
    const double cycle = trials_.front().seconds;
    for (const RateTrial& trial : trials_)
      if (trial.rate) *trial.rate = detail::rounded_rate(100 * trial.seconds / cycle);
    measure_memory();
    measure_library();
    measure_waking();
    return out_;
  }

 private:
  template <class Loops>
  void add_loops() {
    constexpr int64_t kRounds = 200;
    trials_ = {{nullptr, [] { return chain(kRounds); }},
               {&out_.multiply_add, [] { return Loops::multiply_adds(kRounds); }},
               {&out_.sum, [] { return Loops::sums(kRounds); }},
               {&out_.load, [this] { return Loops::loads(block_.get(), kRounds); }},
               {&out_.crossing_load, [this] { return Loops::loads(block_.get() + 20, kRounds); }},
               {&out_.shuffle, [] { return Loops::shuffles(kRounds); }}};
  }

  void add_lines() {
    char* block = block_.get();
    auto lines = [&](int* rate, int64_t bytes, bool fetches) {
      trials_.push_back({rate, [block, bytes, fetches] { return read_lines(block, bytes, fetches); }});
    };
    trials_.push_back({nullptr, [block, this] { return read_lines(block, near_, false); }});  // into the second cache
    lines(&out_.second_line, near_, false);
    lines(&out_.fetched_second_line, near_, true);
    lines(&out_.third_line, far_, false);
    lines(&out_.fetched_third_line, far_, true);
    trials_.push_back({&out_.copied_line, [block, this] { return copy_lines(block, block + far_, near_); }});
  }

  // Each trial reads lines that no cache holds.
  void measure_memory() {
    if (target_.last_cache_bytes == 0) return;
    char* const block = block_.get();
    auto forget = [block] { detail::forget_lines(block, kMemoryBytes); };
    trials_ = {{nullptr, [] { return chain(200); }},
               {&out_.memory_line, [block] { return read_lines(block, kMemoryBytes, false); }, forget},
               {&out_.apart_memory_line, [block] { return read_lines_apart(block, kMemoryBytes); }, forget}};
    run_rate_rounds(trials_, 0.005);
    for (const RateTrial& trial : trials_)
      if (trial.rate) *trial.rate = detail::rounded_rate(100 * trial.seconds / trials_.front().seconds);
  }

  // Products of float32: a large one, a short one whose second operand is packed for few rows, and next to nothing.
  void measure_library() {
    const Blas* found = nullptr;
    try {
      found = &blas();
    } catch (const UserError&) {
      return;  // whoever multiplies matrices will be told
    }
    constexpr int kSide = 256, kLong = 512, kShort = 8, kTiny = 4;
    const std::vector<float> a(kLong * kLong), b(kLong * kLong);
    std::vector<float> c(kLong * kLong);
    auto multiply_narrow = [&](int narrow) {
      found->sgemm(kCblasRowMajor, kCblasTrans, kCblasNoTrans, kLong, narrow, kLong, 1, a.data(), kLong, b.data(),
                   narrow, 0, c.data(), narrow);
      return int64_t{1};
    };
    auto multiply = [&](int m, int side) {
      found->sgemm(kCblasRowMajor, kCblasNoTrans, kCblasNoTrans, m, side, side, 1, a.data(), side, b.data(), side, 0,
                   c.data(), side);
      return int64_t{1};
    };
    trials_ = {{nullptr, [] { return chain(200); }},
               {nullptr, [&] { return multiply(kSide, kSide); }},
               {nullptr, [&] { return multiply(kShort, kLong); }},
               {nullptr,
                [&] {
                  int64_t calls = 0;
                  while (calls < 16) calls += multiply(kTiny, kTiny);
                  return calls;
                }},
               {nullptr, [&] { return multiply_narrow(target_.lanes_of(DType::kFloat32)); }}};
    run_rate_rounds(trials_, 0.008);
    auto cycles = [&](size_t trial) { return trials_[trial].seconds / trials_[0].seconds; };
    const double lanes = target_.lanes_of(DType::kFloat32), lines = double{kLong} * kLong * sizeof(float) / kLine,
                 of_one = cycles(1) / (double{kSide} * kSide * kSide / lanes);
    out_.library_multiply_add = detail::rounded_rate(100 * of_one);
    out_.library_line =
        detail::rounded_rate(100 * (cycles(2) - of_one * double{kShort} * kLong * kLong / lanes) / lines);
    out_.library_narrow_multiply_add = detail::rounded_rate(100 * cycles(4) / (double{kLong} * kLong));
    out_.library_call = detail::rounded_rate(100 * cycles(3));
  }

  // A piece of work, and two of them of which a second thread does one: it waits for work, as between two steps of a
  // program. They are so long that the first thread does not do both before the second has begun.
  void measure_waking() {
    if (target_.cores < 2) return;
    constexpr int64_t kPiece = 2048;
    auto both = [] {
      run_pieces(2, [](int) { chain(kPiece); });
      return int64_t{1};
    };
    trials_ = {{nullptr, [] { return chain(kPiece); }}, {nullptr, both}};
    run_rate_rounds(trials_, 0.005);
    const double cycles = trials_[1].seconds / trials_[0].seconds - 8 * kPiece;
    if (cycles > 0.75 * 8 * kPiece) return;  // others have the second core: one thread did both
    // What another core has done is known no better than to an octave, and the usual number holds within one of it.
    const double octave = std::round(std::log2(100 * std::max(cycles, 1.0) / KernelRates{}.wake));
    if (std::abs(octave) <= 1) return;
    out_.wake = static_cast<int>(KernelRates{}.wake * std::exp2(std::max(octave, -3.0)));
  }

  static constexpr int64_t kMemoryBytes = 4 << 20;  // a power of two
  const Target& target_;
  KernelRates out_;
  int64_t near_ = 0, far_ = 0;  // bytes that fit the second cache, and the third
  std::unique_ptr<char, Free> block_;
  std::vector<RateTrial> trials_;
};

}  // namespace

KernelRates measure_kernel_rates(const Target& target) {
  if (!target.has_fma() || target.second_cache_bytes == 0) return {};
  try {
    return Rates(target).measured();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

#else

KernelRates measure_kernel_rates(const Target&) {
  return {};
}

#endif

}  // namespace thtrain
