#include "compiler/libraries/threads.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/host/cpu.h"

namespace thtrain {
namespace {

// How long who waits spins before it sleeps. Long enough for what only one thread does between two steps of a program;
// where somebody else wants the cores, short enough that one is given back before the scheduler takes it by force.
constexpr long kSpinNanoseconds = 150'000, kSpinAmongOthers = 30'000;
// Who spins and finds that so much time went by between two looks at the clock was taken off its core. Then somebody
// else wants it, and is taken to want it for a while.
constexpr long kTakenNanoseconds = 100'000, kAmongOthersNanoseconds = 100'000'000;

thread_local bool inside = false;

struct InsideGuard {
  bool outer = inside;
  explicit InsideGuard(bool now) { inside = now; }
  ~InsideGuard() { inside = outer; }
};

long now_nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

std::atomic<long> among_others_until = 0;

/// True once `done()` holds, false if it did not within the time of spinning.
template <class Done>
bool spin_until(Done done) {
  if (done()) return true;
  const long start = now_nanoseconds();
  const bool among_others = start < among_others_until.load(std::memory_order_relaxed);
  const long deadline = start + (among_others ? kSpinAmongOthers : kSpinNanoseconds);
  long last = start;
  auto look_at_clock = [&] {
    const long now = now_nanoseconds();
    if (now - last > kTakenNanoseconds)
      among_others_until.store(now + kAmongOthersNanoseconds, std::memory_order_relaxed);
    last = now;
  };
  while (last < deadline) {
    for (int i = 0; i < 32; ++i) {
      if (done()) {
        look_at_clock();
        return true;
      }
      relax();
    }
    look_at_clock();
  }
  return false;
}

/// One job at a time. The job is published as a ticket, (job number, pieces), and one slot for each piece. Whoever
/// changes a slot from open to taken runs the piece: first its own, then any that nobody has begun. So a thread whose
/// core is busy elsewhere holds up nobody, and a late one finds nothing open and cannot touch a newer job.
class Pool {
 public:
  /// False where another thread has the pool.
  bool try_run(int pieces, void (*call)(void*, int), void* function) {
    if (owned_.exchange(true, std::memory_order_acquire)) return false;
    grow(pieces - 1);
    call_ = call;
    function_ = function;
    uint64_t job = ++job_;
    pending_.store(pieces, std::memory_order_relaxed);
    for (int i = 0; i < pieces; ++i) slots_[slot(i)].store(open(job), std::memory_order_relaxed);
    ticket_.store(job << 16 | static_cast<uint64_t>(pieces));  // seq_cst: before the look at sleepers_
    if (sleepers_.load() > 0) {
      { std::lock_guard lock(mutex_); }  // a worker that has just looked is in wait() when this is passed
      wake_.notify_all();
    }
    work(0, job, pieces);
    if (!spin_until([&] { return pending_.load(std::memory_order_acquire) == 0; })) {
      std::unique_lock lock(mutex_);
      caller_sleeps_.store(true);
      done_.wait(lock, [&] { return pending_.load() == 0; });
      caller_sleeps_.store(false);
    }
    owned_.store(false, std::memory_order_release);
    return true;
  }

 private:
  static uint64_t open(uint64_t job) { return job << 1; }
  static size_t slot(int piece) { return static_cast<size_t>(piece); }

  void work(int self, uint64_t job, int pieces) {
    InsideGuard guard(true);
    for (int i = 0; i < pieces; ++i) {
      int piece = (self + i) % pieces;
      uint64_t expected = open(job);
      auto& state = slots_[slot(piece)];
      if (state.load(std::memory_order_relaxed) != expected) continue;
      if (!state.compare_exchange_strong(expected, expected | 1, std::memory_order_acq_rel)) continue;
      call_(function_, piece);
      if (pending_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
        { std::lock_guard lock(mutex_); }
        done_.notify_one();
      }
    }
  }

  void serve(int self) {
    uint64_t seen = 0;
    while (true) {
      uint64_t ticket = ticket_.load(std::memory_order_acquire);
      auto changed = [&] { return (ticket = ticket_.load(std::memory_order_acquire)) != seen; };
      if (!spin_until(changed)) {
        std::unique_lock lock(mutex_);
        sleepers_.fetch_add(1);
        wake_.wait(lock, [&] { return (ticket = ticket_.load()) != seen; });
        sleepers_.fetch_sub(1);
      }
      seen = ticket;
      int pieces = static_cast<int>(ticket & 0xffff);
      if (self < pieces) work(self, ticket >> 16, pieces);
    }
  }

  /// Up to `workers` threads besides the caller's; fewer where the system gives no more; the pieces run all the same.
  void grow(int workers) {
    if (workers_ >= workers) return;
    sigset_t all, before;  // signals belong to the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; workers_ < workers; ++workers_) {
        std::thread thread([this, self = workers_ + 1] { serve(self); });
        pthread_setname_np(thread.native_handle(), str("thtrain-", workers_ + 1).c_str());
        thread.detach();
      }
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::atomic<bool> owned_ = false;
  int workers_ = 0;  // these four: the owner's
  uint64_t job_ = 0;
  void (*call_)(void*, int) = nullptr;
  void* function_ = nullptr;
  alignas(64) std::atomic<uint64_t> ticket_ = 0;
  std::atomic<int> sleepers_ = 0;
  alignas(64) std::atomic<int> pending_ = 0;
  std::atomic<bool> caller_sleeps_ = false;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  alignas(64) std::array<std::atomic<uint64_t>, kMaxThreads> slots_ = {};
};

// Never destroyed: its threads sleep in it until the process ends. A child made by fork() has none of the threads, so
// it leaves the pool behind and makes a new one.
std::atomic<Pool*> the_pool = nullptr;
std::atomic<Pool*> leaked_pool = nullptr;

Pool& pool() {
  if (Pool* existing = the_pool.load(std::memory_order_acquire)) return *existing;
  static std::once_flag watch_forks;
  std::call_once(watch_forks,
                 [] { pthread_atfork(nullptr, nullptr, [] { leaked_pool = the_pool.exchange(nullptr); }); });
  auto* made = new Pool;
  Pool* expected = nullptr;
  if (the_pool.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *expected;
}

// The first number of "4", or of "4, 2", which OpenMP takes for nested regions.
std::optional<int> first_of_list(std::string_view text) {
  std::optional<int> first;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    std::string_view word = text.substr(start, end - start);
    const size_t begin = std::min(word.find_first_not_of(' '), word.size());
    word = word.substr(begin, word.find_last_not_of(' ') + 1 - begin);
    long value = 0;
    auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || stop != word.data() + word.size() || value < 1) return {};
    if (!first) first = static_cast<int>(std::min<long>(value, kMaxThreads + 1));  // one more: too many
    start = end + 1;
  }
  return first;
}

}  // namespace

int thread_count(int requested) {
  if (requested > 0) return std::min(requested, kMaxThreads);
  const int cores = std::min(cpu().cores, kMaxThreads);
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (!text || !*text) return cores;
  auto warn = [&](std::string what, std::string expected) {
    static std::once_flag warned;
    std::call_once(warned, [&] {
      const Message message{.what = std::move(what), .expected = std::move(expected), .got = text};
      std::fprintf(stderr, "warning%s\n", message.text().substr(5).c_str());
    });
  };
  const std::optional<int> first = first_of_list(text);
  if (!first)
    warn(str("OMP_NUM_THREADS is not a number of threads; all ", cores, " cores are used"),
         "an integer above 0, or several with commas between them");
  else if (*first > kMaxThreads)
    warn(str("OMP_NUM_THREADS is larger than thtrain's most; ", kMaxThreads, " threads are used"),
         str("at most ", kMaxThreads));
  return first ? std::min(*first, kMaxThreads) : cores;
}

Partition::Partition(long n, long grain, long multiple, int threads)
    : n_(std::max(n, 0L)), multiple_(std::max(multiple, 1L)) {
  units_ = n_ / multiple_;
  long units_of_grain = std::max(1L, (std::max(grain, 1L) + multiple_ - 1) / multiple_);
  long most = std::clamp(threads, 1, kMaxThreads);
  pieces_ = n_ == 0 ? 0 : static_cast<int>(std::clamp(units_ / units_of_grain, 1L, most));
}

long Partition::begin(int piece) const {
  long even = units_ / pieces_, larger = units_ % pieces_;  // the first `larger` pieces have one unit more
  return (even * piece + std::min<long>(piece, larger)) * multiple_;
}

void detail::run_pieces(int pieces, void (*call)(void*, int), void* function) {
  if (pieces > 1 && pieces <= kMaxThreads && !inside && pool().try_run(pieces, call, function)) return;
  InsideGuard guard(inside || pieces > 1);
  for (int i = 0; i < pieces; ++i) call(function, i);
}

void parallel_for(ThContext* context, ThBody body, void* const* buffers, const long* lengths, long n, long grain,
                  long multiple) {
  Partition partition(n, grain, multiple, context->threads);
  run_pieces(partition.pieces(),
             [&](int piece) { body(context, buffers, lengths, partition.begin(piece), partition.end(piece)); });
}

void record_failure(ThContext* context, int check, long value, long limit) {
  ThFailure& failure = context->failure;
  long none = 0;
  if (!__atomic_compare_exchange_n(&failure.word, &none, check + 1L, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  failure.value = value;
  failure.limit = limit;
}

bool inside_parallel() {
  return inside;
}

}  // namespace thtrain
