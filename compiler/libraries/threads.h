// The pool of threads behind ThContext::parallel_for: a static partition, bounded spinning, then sleep.
// docs/decisions/0005-threads.md has the reasons and the measurements.
#pragma once

#include <type_traits>

#include "compiler/codegen/entry_abi.h"

namespace thtrain {

/// The most threads that a function uses.
inline constexpr int kMaxThreads = 256;

/// How many threads a function uses: `requested` where it is positive, else the first number of OMP_NUM_THREADS, else
/// the cores that the process may use. At most kMaxThreads. What OMP_NUM_THREADS says and is no number above 0,
/// or a list of them, is named once on standard error.
int thread_count(int requested = 0);

/// A cut of [0, n) into pieces of whole units of `multiple` (the last piece takes what remains), each at least `grain`
/// long, at most `threads` of them, as even as whole units allow. It depends on its four arguments only. No pieces
/// where n is 0; one where n is shorter than 2 * grain.
class Partition {
 public:
  Partition(long n, long grain, long multiple, int threads);
  int pieces() const { return pieces_; }
  long begin(int piece) const;
  long end(int piece) const { return piece + 1 == pieces_ ? n_ : begin(piece + 1); }

 private:
  long n_, multiple_, units_;
  int pieces_;
};

/// Calls f(0) ... f(pieces - 1), each once, on this thread and on the pool's, and returns when all are done; f must not
/// throw. In order on this thread alone where it runs inside such a call already, or while another thread has the pool.
/// Any thread may call, in a child made by fork() too.
template <class F>
void run_pieces(int pieces, F&& f);

/// ThContext::parallel_for.
void parallel_for(ThContext* context, ThBody body, void* const* buffers, const long* lengths, long n, long grain,
                  long multiple);

/// ThContext::fail.
void record_failure(ThContext* context, int check, long value, long limit);

/// True while this thread runs a piece: what it calls then runs serially.
bool inside_parallel();

namespace detail {
void run_pieces(int pieces, void (*call)(void* function, int piece), void* function);
}

template <class F>
void run_pieces(int pieces, F&& f) {
  using Function = std::remove_reference_t<F>;
  detail::run_pieces(
      pieces, [](void* function, int piece) { (*static_cast<Function*>(function))(piece); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace thtrain
