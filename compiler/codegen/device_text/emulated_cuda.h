// CUDA C++ on the host, one block after the other: the words, functions and variables of the language that generated
// kernels use. The threads of a block take turns on stacks of their own. One runs until it waits, at a
// barrier or a shuffle, or ends; once none can go on, those that wait for each other are all there, or the kernel is
// wrong. THTRAIN_EMULATED_ORDER, a number, draws the order of blocks and threads: a right kernel gives the same bits in
// every order. CMake embeds this text behind entry_abi.h. With TH_CHECKED, emulated_checks.h follows, which learns of
// each access. docs/decisions/0020.
#ifndef THTRAIN_EMULATED_CUDA_H
#define THTRAIN_EMULATED_CUDA_H

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#define __global__ __attribute__((visibility("hidden")))
#define __device__ inline
#ifdef TH_CHECKED
#define TH_UNLOGGED __attribute__((no_sanitize_thread))
#define TH_TELL(what) th_tell_##what
#define __shared__ static
static void th_tell_block(long number);
static void th_tell_thread();
static void th_tell_meeting(int first, unsigned mask);
static void th_tell_atomic(const void* at, unsigned long bytes, const void* from);
#else
#define TH_UNLOGGED
#define TH_TELL(what) (void)0
#define __shared__ static __thread
#endif
#define __syncthreads() th_wait_at(__LINE__, 0, 0)
#define __syncwarp() th_wait_at(__LINE__, 0xffffffffu, 0)
#define __shfl_down_sync(mask, value, delta) th_shuffle(__LINE__, mask, value, -1, delta)
#define __shfl_sync(mask, value, lane) th_shuffle(__LINE__, mask, value, lane, 0)

extern "C" char* getenv(const char*) noexcept;

/* ---- functions */

#define TH_FUNCTION1(name)                 \
  extern "C" double name(double) noexcept; \
  extern "C" float name##f(float) noexcept;
#define TH_FUNCTION2(name)                         \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept;
/* clang-format off */
TH_FUNCTION1(exp) TH_FUNCTION1(exp2) TH_FUNCTION1(expm1) TH_FUNCTION1(log) TH_FUNCTION1(log2) TH_FUNCTION1(log10)
TH_FUNCTION1(log1p) TH_FUNCTION1(sin) TH_FUNCTION1(cos) TH_FUNCTION1(tan) TH_FUNCTION1(asin) TH_FUNCTION1(acos)
TH_FUNCTION1(atan) TH_FUNCTION1(sinh) TH_FUNCTION1(cosh) TH_FUNCTION1(tanh) TH_FUNCTION1(asinh) TH_FUNCTION1(acosh)
TH_FUNCTION1(atanh) TH_FUNCTION1(erf) TH_FUNCTION1(erfc) TH_FUNCTION1(cbrt) TH_FUNCTION1(sqrt) TH_FUNCTION1(fabs)
TH_FUNCTION1(floor) TH_FUNCTION1(ceil) TH_FUNCTION1(rint) TH_FUNCTION1(trunc) TH_FUNCTION1(lgamma) TH_FUNCTION1(tgamma)
TH_FUNCTION2(pow) TH_FUNCTION2(atan2) TH_FUNCTION2(hypot) TH_FUNCTION2(fmod) TH_FUNCTION2(copysign)
    /* clang-format on */
    extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;

inline double __fma_rn(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

template <class To, class From>
inline To th_bits_as(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int bits) {
  return th_bits_as<float>(bits);
}
inline int __float_as_int(float x) {
  return th_bits_as<int>(x);
}
inline double __longlong_as_double(long long bits) {
  return th_bits_as<double>(bits);
}
inline long long __double_as_longlong(double x) {
  return th_bits_as<long long>(x);
}

/* One host thread runs all threads of a launch: what it does between two waits is one step. */
#define TH_ATOMIC_FUNCTION(name, changed)                        \
  template <class T>                                             \
  TH_UNLOGGED inline T name(T* at, T value) {                    \
    TH_TELL(atomic(at, sizeof(T), __builtin_return_address(0))); \
    T old = *at;                                                 \
    *at = changed;                                               \
    return old;                                                  \
  }
TH_ATOMIC_FUNCTION(atomicAdd, T(old + value))
TH_ATOMIC_FUNCTION(atomicMin, value < old ? value : old)
TH_ATOMIC_FUNCTION(atomicMax, value > old ? value : old)
TH_ATOMIC_FUNCTION(atomicAnd, T(old bitand value))
TH_ATOMIC_FUNCTION(atomicOr, T(old | value))
template <class T>
TH_UNLOGGED inline T atomicCAS(T* at, T expected, T value) {
  TH_TELL(atomic(at, sizeof(T), __builtin_return_address(0)));
  T old = *at;
  if (old == expected) *at = value;
  return old;
}

/* ---- threads of a block */

enum { TH_WARP = 32, TH_MOST_THREADS = 1024, TH_STACK = 640 << 10 };
enum ThThreadState { TH_READY, TH_WAITING, TH_DONE };

struct ThThread {
  ThThreadState state;
  int line;               /* of what it waits at */
  unsigned mask;          /* lanes that it waits for; 0: the block */
  bool is_shuffle;        /* that it waits at: memory has no order by that */
  char given[8], seen[8]; /* of a shuffle: its own value; what it gave when all were there */
  jmp_buf at;
};

struct ThIndex {
  unsigned x, y, z;
};
static __thread struct { ThIndex thread, block, threads, blocks; } th_index;
#define threadIdx th_index.thread
#define blockIdx th_index.block
#define blockDim th_index.threads
#define gridDim th_index.blocks

/* Of a kernel that is wrong: the thread is not where another one waits, or takes from a lane that gives nothing. */
struct ThWrong {
  long block;
  int thread, line;       /* 0: it has ended */
  int waiting, wait_line; /* 0: nobody waits */
  int lane;
};

/* The block that runs now. */
struct ThBlock {
  int threads, begun, fibers, first, step; /* thread i to begin is number (first + i * step) % threads */
  int warp_step;                           /* of warps, likewise */
  bool is_wrong;
  ThWrong wrong;
  void (*body)(const void* arguments);
  const void* arguments;
  char* stacks;
  jmp_buf scheduler;
  ucontext_t fiber;
  ThThread thread[TH_MOST_THREADS];
};
static __thread ThBlock* th_block;

/* Runs threads that have not begun, until one waits or all have begun. */
TH_UNLOGGED static void th_run_threads() {
  ThBlock* block = th_block;
  while (block->begun < block->threads) {
    int number = (block->first + block->begun++ * block->step) % block->threads;
    threadIdx.x = (unsigned)number;
    TH_TELL(thread());
    block->body(block->arguments);
    block->thread[threadIdx.x].state = TH_DONE;
  }
  _longjmp(block->scheduler, 1);
}

TH_UNLOGGED static void th_begin_fiber() {
  ThBlock* block = th_block;
  getcontext(&block->fiber);
  block->fiber.uc_stack.ss_sp = block->stacks + (long)block->fibers++ * TH_STACK;
  block->fiber.uc_stack.ss_size = TH_STACK;
  block->fiber.uc_link = 0;
  makecontext(&block->fiber, th_run_threads, 0);
  setcontext(&block->fiber);
}

/* The thread waits for the lanes of the mask, or (0) for the block; on the way the others go on. */
__attribute__((noinline)) TH_UNLOGGED static void th_wait_at(int line, unsigned mask, const char* given) {
  ThBlock* block = th_block;
  const unsigned number = threadIdx.x;
  ThThread* thread = &block->thread[number];
  thread->state = TH_WAITING;
  thread->line = line;
  thread->mask = mask;
  thread->is_shuffle = given != 0;
  if (given) __builtin_memcpy(thread->given, given, sizeof thread->given);
  if (!_setjmp(thread->at)) {
    if (block->begun < block->threads)
      th_begin_fiber();
    else
      _longjmp(block->scheduler, 1);
  }
  threadIdx.x = number;
}

template <class T>
TH_UNLOGGED inline T th_shuffle(int line, unsigned mask, T value, int lane, int delta) {
  ThBlock* block = th_block;
  const int own = (int)threadIdx.x % TH_WARP, warp = (int)threadIdx.x - own;
  char given[8] = {};
  __builtin_memcpy(given, &value, sizeof value);
  th_wait_at(line, mask, given);
  int from = lane >= 0 ? lane : own + delta;
  if (from >= TH_WARP) from = own;
  if (warp + from >= block->threads || !(mask >> from & 1)) {
    if (!block->is_wrong) block->wrong = ThWrong{0, warp + own, line, 0, 0, from};
    block->is_wrong = true;
    return value;
  }
  T out;
  __builtin_memcpy(&out, block->thread[warp + from].seen, sizeof out);
  return out;
}

/* Do all threads from `first` on that the mask names wait there with the same mask? (0: the whole block.) */
static bool th_are_there(ThBlock* block, int first, int count, int line, unsigned mask) {
  for (int i = 0; i < count; ++i) {
    if (mask && !(mask >> i & 1)) continue;
    const ThThread* thread = &block->thread[first + i];
    if (first + i >= block->threads || thread->state != TH_WAITING || thread->line != line || thread->mask != mask)
      return false;
  }
  return true;
}

/* Lets those go on who wait with the thread, if all of them are there. */
static bool th_release(ThBlock* block, int number) {
  const int line = block->thread[number].line, lane = number % TH_WARP;
  const unsigned mask = block->thread[number].mask;
  const int first = mask ? number - lane : 0, count = mask ? (int)TH_WARP : block->threads;
  if (block->thread[number].state != TH_WAITING) return false;
  if (mask && !(mask >> lane & 1)) return false; /* the mask leaves the thread itself out */
  if (!th_are_there(block, first, count, line, mask)) return false;
  for (int i = 0; i < count; ++i) {
    if (mask && !(mask >> i & 1)) continue;
    ThThread* thread = &block->thread[first + i];
    __builtin_memcpy(thread->seen, thread->given, sizeof thread->seen);
    thread->state = TH_READY;
  }
  if (!block->thread[number].is_shuffle) TH_TELL(meeting(first, mask));
  return true;
}

/* Until it waits again, or ends. */
__attribute__((noinline)) static void th_resume(ThBlock* block, ThThread* thread) {
  if (!_setjmp(block->scheduler)) _longjmp(thread->at, 1);
}

/* Runs the threads of a warp as far as they come without others. */
static void th_run_warp(ThBlock* block, int first) {
  const int left = block->threads - first, count = left < TH_WARP ? left : (int)TH_WARP;
  for (bool any = true; any && !block->is_wrong;) {
    any = false;
    for (int i = 0; i < count; ++i) {
      ThThread* thread = &block->thread[first + (i + block->first) % count];
      if (thread->state != TH_READY) continue;
      th_resume(block, thread);
      if (block->is_wrong) return;
      any = true;
    }
    for (int i = 0; i < count; ++i)
      if (block->thread[first + i].mask && th_release(block, first + i)) any = true;
  }
}

/* False where the kernel is wrong. One warp after the other runs ahead as far as it can, so that what it does too early
   is seen. */
static bool th_run_block(ThBlock* block) {
  const int warps = (block->threads + TH_WARP - 1) / TH_WARP;
  block->begun = block->fibers = 0;
  if (!_setjmp(block->scheduler)) th_begin_fiber();
  for (;;) {
    for (int i = 0; i < warps; ++i) th_run_warp(block, (block->first + i * block->warp_step) % warps * TH_WARP);
    if (block->is_wrong) return false;
    int waiting = -1;
    for (int i = 0; i < block->threads; ++i)
      if (block->thread[i].state == TH_WAITING) waiting = i;
    if (waiting < 0) return true;
    const ThThread* last = &block->thread[waiting];
    if (!last->mask && th_release(block, waiting)) continue;
    /* One that has ended, or waits elsewhere, or with another mask. */
    int other = waiting;
    for (int i = block->threads; i-- > 0;)
      if (block->thread[i].state == TH_DONE || block->thread[i].line != last->line) other = i;
    if (last->mask && !(last->mask >> waiting % TH_WARP & 1)) other = waiting; /* its mask leaves it out */
    const ThThread* of = &block->thread[other];
    block->wrong = ThWrong{0, other, of->state == TH_DONE ? 0 : of->line, waiting, last->line, 0};
    return false;
  }
}

/* A step through n numbers that meets each once; 1 for the order 0. */
static long th_step(unsigned long order, long n) {
  long step = order == 0 ? 1 : 1 + (long)((order * 2654435761ul) >> 7) % n;
  for (;; ++step) {
    long a = step, b = n;
    while (b) {
      long r = a % b;
      a = b;
      b = r;
    }
    if (a == 1) return step;
  }
}

static unsigned long th_order() {
  const char* text = getenv("THTRAIN_EMULATED_ORDER");
  unsigned long out = 0;
  for (; text && *text >= '0' && *text <= '9'; ++text) out = 10 * out + (unsigned long)(*text - '0');
  return out;
}

static unsigned long th_bytes_of(int threads) {
  return sizeof(ThBlock) + (unsigned long)threads * TH_STACK;
}
static void th_free_block() {
  if (th_block) munmap(th_block->stacks, th_bytes_of(th_block->threads));
  th_block = 0;
}

/* Runs all blocks. False where the kernel is wrong. */
TH_UNLOGGED static bool th_run_blocks(long blocks, int threads, void (*body)(const void*), const void* arguments,
                                      ThWrong* wrong) {
  const unsigned long order = th_order();
  char* memory =
      (char*)mmap(0, th_bytes_of(threads), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ThBlock* block = th_block = (ThBlock*)(memory + (unsigned long)threads * TH_STACK);
  block->threads = threads;
  block->first = (int)(order % (unsigned long)threads);
  block->step = (int)th_step(order, threads);
  block->warp_step = (int)th_step(order, (threads + TH_WARP - 1) / TH_WARP);
  block->body = body;
  block->arguments = arguments;
  block->stacks = memory;
  blockDim = ThIndex{(unsigned)threads, 1, 1};
  gridDim = ThIndex{(unsigned)blocks, 1, 1};
  const long step = th_step(order, blocks);
  long number = (long)(order % (unsigned long)blocks);
  bool is_right = true;
  for (long i = 0; i < blocks && is_right; ++i, number = (number + step) % blocks) {
    blockIdx = ThIndex{(unsigned)number, 0, 0};
    TH_TELL(block(number));
    is_right = th_run_block(block);
  }
  TH_TELL(block(-1));
  *wrong = block->wrong;
  wrong->block = blockIdx.x;
  th_free_block();
  return is_right;
}

#endif
