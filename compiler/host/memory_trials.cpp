#include "compiler/host/memory_trials.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "compiler/base/clock.h"

namespace thtrain {

using kernel::MemoryLimits;
using kernel::Target;

namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kPastCaches = 16 << 20;  // bytes of a loop whose lines were flushed from the caches

double sum_of_logs(const std::vector<double>& seconds) {
  double out = 0;
  for (double s : seconds) out += std::log(s);
  return out;
}

}  // namespace

MemoryLimits usual_memory_limits(const Target& target) {
  // On the two machines that were measured, of Intel's and AMD's, it lies from a quarter to five eighths of the third
  // cache.
  return {.non_temporal_bytes = std::max(target.second_cache_bytes, target.last_cache_bytes / 2),
          .store_prefetch_lines = 0,
          .load_prefetch_lines = 0};
}

int64_t detail::best_non_temporal_limit(const std::vector<StoreTimes>& times) {
  double cost = 0;
  for (const StoreTimes& t : times) cost += std::log(t.cached);
  double least = cost - std::log(1.1);  // less is noise
  int64_t best = 0;
  for (size_t i = times.size(); i-- > 0;) {  // sizes from i on go past the caches
    cost += std::log(times[i].non_temporal) - std::log(times[i].cached);
    if (cost >= least) continue;
    least = cost;
    const auto here = static_cast<double>(times[i].bytes);
    best = static_cast<int64_t>(i == 0 ? here / 2 : std::sqrt(here * static_cast<double>(times[i - 1].bytes)));
  }
  return best;
}

int detail::best_prefetch_lines(const std::vector<PrefetchTimes>& times) {
  // A fiftieth for each of the loops: less is noise.
  double least =
      sum_of_logs(times.front().seconds) + std::log(0.98) * static_cast<double>(times.front().seconds.size());
  int best = times.front().lines;
  for (const PrefetchTimes& t : times)
    if (double cost = sum_of_logs(t.seconds); cost < least) least = cost, best = t.lines;
  return best;
}

#ifdef __x86_64__
namespace {

// c[i] = a[i] + b[i] for n doubles, n a multiple of 8, on arrays of whole cache lines; with lines of a and b that are
// prefetched `ahead_of_loads` bytes ahead, and those of c `ahead_of_stores` (0: none).
using TrialLoop = void (*)(double* c, const double* a, const double* b, int64_t n, int64_t ahead_of_loads,
                           int64_t ahead_of_stores);

// Two loops for an instruction set: with ordinary stores, and with non-temporal ones. A loop prefetches or does not:
// what an unused prefetch would cost is not measured along.
#define TH_MEMORY_LOOP(NAME, ISA, LANES, STORE)                                                  \
  __attribute__((target(ISA))) void NAME(double* c, const double* a, const double* b, int64_t n, \
                                         int64_t ahead_of_loads, int64_t ahead_of_stores) {      \
    typedef double V __attribute__((vector_size(8 * LANES), may_alias));                         \
    if (ahead_of_loads == 0 && ahead_of_stores == 0) {                                           \
      for (int64_t i = 0; i < n; i += LANES) {                                                   \
        const V sum = *reinterpret_cast<const V*>(a + i) + *reinterpret_cast<const V*>(b + i);   \
        STORE;                                                                                   \
      }                                                                                          \
    } else if (ahead_of_loads == 0) {                                                            \
      for (int64_t i = 0; i < n; i += LANES) {                                                   \
        __builtin_prefetch(reinterpret_cast<const char*>(c + i) + ahead_of_stores, 1);           \
        const V sum = *reinterpret_cast<const V*>(a + i) + *reinterpret_cast<const V*>(b + i);   \
        STORE;                                                                                   \
      }                                                                                          \
    } else {                                                                                     \
      for (int64_t i = 0; i < n; i += LANES) {                                                   \
        __builtin_prefetch(reinterpret_cast<const char*>(a + i) + ahead_of_loads, 0);            \
        __builtin_prefetch(reinterpret_cast<const char*>(b + i) + ahead_of_loads, 0);            \
        const V sum = *reinterpret_cast<const V*>(a + i) + *reinterpret_cast<const V*>(b + i);   \
        STORE;                                                                                   \
      }                                                                                          \
    }                                                                                            \
    _mm_sfence();                                                                                \
  }
TH_MEMORY_LOOP(cached_16, "sse2", 2, *reinterpret_cast<V*>(c + i) = sum)
TH_MEMORY_LOOP(cached_32, "avx2", 4, *reinterpret_cast<V*>(c + i) = sum)
TH_MEMORY_LOOP(cached_64, "avx512f", 8, *reinterpret_cast<V*>(c + i) = sum)
TH_MEMORY_LOOP(past_caches_16, "sse2", 2, _mm_stream_pd(c + i, reinterpret_cast<__m128d>(sum)))
TH_MEMORY_LOOP(past_caches_32, "avx2", 4, _mm256_stream_pd(c + i, reinterpret_cast<__m256d>(sum)))
TH_MEMORY_LOOP(past_caches_64, "avx512f", 8, _mm512_stream_pd(c + i, reinterpret_cast<__m512d>(sum)))
#undef TH_MEMORY_LOOP

bool has_clflushopt() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 23 & 1) != 0;
}

// As clflush, which all processors have, but lines need not wait for each other.
__attribute__((target("clflushopt"))) void forget_out_of_order(const char* from, const char* end) {
  for (; from < end; from += kLine) _mm_clflushopt(const_cast<char*>(from));
}

struct Free {
  void operator()(double* block) const { std::free(block); }
};
using Array = std::unique_ptr<double, Free>;

// As large arrays of functions are: on pages of 2 MiB where the system has them.
Array allocated(int64_t length) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = (static_cast<size_t>(length) * sizeof(double) + kHugePage - 1) / kHugePage * kHugePage;
  Array out(static_cast<double*>(std::aligned_alloc(kHugePage, bytes)));
  if (!out) throw std::bad_alloc();
  madvise(out.get(), bytes, MADV_HUGEPAGE);
  constexpr int64_t kPage = 4096 / sizeof(double);
  for (int64_t i = 0; i < length; i += kPage) out.get()[i] = 1;  // the system gives a page when it is written to
  return out;
}

// One block of memory, of which loops take equally long arrays of whole cache lines.
class Trials {
 public:
  Trials(const Target& target, int64_t bytes)
      : cached_(target.lanes_of(DType::kFloat64) == 8   ? cached_64
                : target.lanes_of(DType::kFloat64) == 4 ? cached_32
                                                        : cached_16),
        past_caches_(target.lanes_of(DType::kFloat64) == 8   ? past_caches_64
                     : target.lanes_of(DType::kFloat64) == 4 ? past_caches_32
                                                             : past_caches_16),
        length_(bytes / kLine * kLineDoubles),
        block_(allocated(length_)) {}

  // The fastest of many rounds. The loops of a round are run one after the other, so that a busy moment hits all of
  // them.
  template <class Run>
  void run_rounds(double until, int least, Run round) {
    for (int done = 0; done < least || (seconds_now() < until && done < 1000); ++done) round();
  }

  struct TwoUses {
    double ring, again;
  };
  // Calls that touch so many bytes each. Ring: three calls with two operands, of which each reads what the two before
  // it wrote, as whoever calls a function for its result does. Again: the same call with one operand once more. Each is
  // done once without being timed: the caches still hold what another loop left there.
  TwoUses calls(bool non_temporal, int64_t bytes) {
    const TrialLoop loop = non_temporal ? past_caches_ : cached_;
    const int64_t n = length_of(bytes, 3), longer = length_of(bytes, 2);
    double ring = 0, again = 0;
    for (int round = 0; round < 2; ++round) {
      const double begin = seconds_now();
      for (size_t i = 0; i < 3; ++i) loop(part((i + 2) % 3, n), part(i % 3, n), part((i + 1) % 3, n), n, 0, 0);
      ring = seconds_now() - begin;
    }
    for (int round = 0; round < 2; ++round) {
      const double begin = seconds_now();
      loop(part(1, longer), part(0, longer), part(0, longer), longer, 0, 0);
      again = seconds_now() - begin;
    }
    return {ring, again};
  }

  // The same call again and again, of loops that touch so many bytes and stay in the caches.
  double in_caches(int64_t bytes, int64_t ahead_of_stores) {
    const int64_t n = length_of(bytes, 3);
    const double begin = seconds_now();
    for (int i = 0; i < 2; ++i) cached_(part(2, n), part(0, n), part(1, n), n, 0, ahead_of_stores);
    return seconds_now() - begin;
  }

  // A call with one operand on arrays that no cache holds.
  double past_caches(int64_t ahead_of_loads) {
    const int64_t n = length_of(kPastCaches, 2);
    detail::forget_lines(block_.get(), 2 * n * 8);
    const double begin = seconds_now();
    past_caches_(part(1, n), part(0, n), part(0, n), n, ahead_of_loads, 0);
    return seconds_now() - begin;
  }

 private:
  static constexpr int64_t kLineDoubles = kLine / 8;
  // Of each of so many arrays that have so many bytes together.
  int64_t length_of(int64_t bytes, int arrays) const {
    return std::min(length_, bytes / 8) / arrays / kLineDoubles * kLineDoubles;
  }
  double* part(size_t i, int64_t n) { return block_.get() + static_cast<int64_t>(i) * n; }

  TrialLoop cached_, past_caches_;
  int64_t length_;  // doubles
  Array block_;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of sizes up to `most`; loops that touch as much as the last cache has go past it.
int64_t measured_limit(Trials& trials, const Target& target, int64_t most, double until) {
  struct Uses {
    int64_t bytes;
    double ring[2] = {kInfinity, kInfinity}, again[2] = {kInfinity, kInfinity};  // cached, non-temporal
  };
  std::vector<Uses> uses;
  constexpr double kRatio = 2;
  for (auto bytes = static_cast<double>(most); bytes > static_cast<double>(2 * target.second_cache_bytes);
       bytes /= kRatio)
    uses.push_back({.bytes = static_cast<int64_t>(bytes)});
  std::reverse(uses.begin(), uses.end());
  trials.run_rounds(until, 2, [&] {
    for (Uses& u : uses)
      for (size_t kind : {0, 1}) {
        const Trials::TwoUses seconds = trials.calls(kind == 1, u.bytes);
        u.ring[kind] = std::min(u.ring[kind], seconds.ring);
        u.again[kind] = std::min(u.again[kind], seconds.again);
      }
  });
  std::vector<detail::StoreTimes> times;  // geometric means: both uses count alike
  for (const Uses& u : uses)
    times.push_back({u.bytes, std::sqrt(u.ring[0] * u.again[0]), std::sqrt(u.ring[1] * u.again[1])});
  int64_t limit = detail::best_non_temporal_limit(times);
  if (limit == 0)
    limit = static_cast<int64_t>(std::sqrt(static_cast<double>(most) * static_cast<double>(target.last_cache_bytes)));
  constexpr int64_t kUnit = 256 << 10;  // the sizes are far apart
  return std::max(kUnit, limit / kUnit * kUnit);
}

int measured_store_prefetch(Trials& trials, const Target& target, double until) {
  std::vector<detail::PrefetchTimes> times;
  const std::vector<int64_t> sizes = {target.second_cache_bytes / 2, 2 * target.second_cache_bytes,
                                      4 * target.second_cache_bytes};
  for (int lines : {0, 4, 8, 16, 32}) times.push_back({lines, std::vector<double>(sizes.size(), kInfinity)});
  trials.run_rounds(until, 3, [&] {
    for (size_t s = 0; s < sizes.size(); ++s)
      for (detail::PrefetchTimes& t : times)
        t.seconds[s] = std::min(t.seconds[s], trials.in_caches(sizes[s], t.lines * kLine));
  });
  return detail::best_prefetch_lines(times);
}

int measured_load_prefetch(Trials& trials, double until) {
  std::vector<detail::PrefetchTimes> times;
  for (int lines : {0, 32}) times.push_back({lines, {kInfinity}});
  trials.run_rounds(until, 3, [&] {
    for (detail::PrefetchTimes& t : times) t.seconds[0] = std::min(t.seconds[0], trials.past_caches(t.lines * kLine));
  });
  return detail::best_prefetch_lines(times);
}

}  // namespace

void detail::forget_lines(const void* from, int64_t bytes) {
  const char *at = static_cast<const char*>(from), *end = at + bytes;
  if (has_clflushopt())
    forget_out_of_order(at, end);
  else
    for (; at < end; at += kLine) _mm_clflush(at);
  _mm_mfence();
}

MemoryLimits measure_memory_limits(const Target& target) {
  // Seconds for each of the three, or two to three rounds where they take longer.
  constexpr double kForLimit = 0.015, kForStores = 0.005, kForLoads = 0.01;
  constexpr int64_t kMostBytes = 38 << 20;  // touching more takes a while
  if (target.second_cache_bytes == 0 || target.last_cache_bytes <= 4 * target.second_cache_bytes)
    return usual_memory_limits(target);
  const int64_t most = std::min(target.last_cache_bytes / 2, kMostBytes);
  try {
    Trials trials(target, std::max(most, kPastCaches));
    MemoryLimits out;
    out.non_temporal_bytes = measured_limit(trials, target, most, seconds_now() + kForLimit);
    out.store_prefetch_lines = measured_store_prefetch(trials, target, seconds_now() + kForStores);
    out.load_prefetch_lines = measured_load_prefetch(trials, seconds_now() + kForLoads);
    return out;
  } catch (const std::bad_alloc&) {
    return usual_memory_limits(target);
  }
}

#else

MemoryLimits measure_memory_limits(const Target& target) {
  return usual_memory_limits(target);
}

#endif

}  // namespace thtrain
