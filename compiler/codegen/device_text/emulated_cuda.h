// CUDA C++ on the host: the words, functions and variables of the language that generated kernels use. Threads of the
// host share out the blocks of a launch; each runs one after the other. The threads of a block take turns on stacks of
// their own. One runs until it waits, at a barrier or a shuffle, or ends; once none can go on, those that wait for each
// other are all there, or the kernel is wrong. THTRAIN_EMULATED_ORDER, a number, draws the order of blocks and threads:
// a right kernel gives the same bits in every order. CMake embeds this text behind module_abi.h. With TH_CHECKED,
// emulated_checks.h follows, which learns of each access. docs/decisions/0020.
#ifndef THTRAIN_EMULATED_CUDA_H
#define THTRAIN_EMULATED_CUDA_H

#ifndef __x86_64__
#include <ucontext.h>
#endif

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

#define TH_ATOMIC_FUNCTION(name, changed)                                                                    \
  template <class T>                                                                                         \
  TH_UNLOGGED inline T name(T* at, T value) {                                                                \
    TH_TELL(atomic(at, sizeof(T), __builtin_return_address(0)));                                             \
    T old = *at;                                                                                             \
    while (true) {                                                                                           \
      T next = changed;                                                                                      \
      if (__atomic_compare_exchange(at, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old; \
    }                                                                                                        \
  }
TH_ATOMIC_FUNCTION(atomicAdd, T(old + value))
TH_ATOMIC_FUNCTION(atomicMin, value < old ? value : old)
TH_ATOMIC_FUNCTION(atomicMax, value > old ? value : old)
TH_ATOMIC_FUNCTION(atomicAnd, T(old bitand value))
TH_ATOMIC_FUNCTION(atomicOr, T(old | value))
template <class T>
TH_UNLOGGED inline T atomicCAS(T* at, T expected, T value) {
  TH_TELL(atomic(at, sizeof(T), __builtin_return_address(0)));
  __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

/* ---- stacks */

/* Where a stack goes on. */
#ifdef __x86_64__
typedef void* ThPoint;
/* Leaves this stack for the other one: what a called function must keep lies on top of each. */
__attribute__((naked, noinline, no_sanitize_thread)) static void th_switch(ThPoint*, ThPoint*) {
  __asm__(
      "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
      "mov %rsp, (%rdi)\n mov (%rsi), %rsp\n"
      "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
      "pop %rcx\n jmp *%rcx"); /* a return would be foretold by the wrong calls */
}
TH_UNLOGGED static void th_begin(ThPoint* from, char* stack, void (*run)()) {
  /* As if run() had been called: with an address to return to, which is none. */
  void** top = (void**)(((unsigned long)stack + TH_STACK) & ~63ul) - 1;
  *--top = (void*)run;
  ThPoint begin = top - 6;
  th_switch(from, &begin);
}
#else
typedef ucontext_t ThPoint;
static void th_switch(ThPoint* from, ThPoint* to) {
  swapcontext(from, to);
}
static void th_begin(ThPoint* from, char* stack, void (*run)()) {
  ucontext_t begin;
  getcontext(&begin);
  begin.uc_stack.ss_sp = stack;
  begin.uc_stack.ss_size = TH_STACK;
  begin.uc_link = 0;
  makecontext(&begin, run, 0);
  swapcontext(from, &begin);
}
#endif

/* ---- threads of a block */

enum { TH_WARP = 32 };
enum ThThreadState { TH_READY, TH_WAITING, TH_DONE };

struct ThThread {
  ThThreadState state;
  int line;               /* of what it waits at */
  unsigned mask;          /* lanes that it waits for; 0: the block */
  bool is_shuffle;        /* that it waits at: memory has no order by that */
  char given[8], seen[8]; /* of a shuffle: its own value; what it gave when all were there */
  ThPoint at;
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
  int next_to_begin;
  int warp_step; /* of warps, likewise */
  bool is_wrong;
  ThWrong wrong;
  void (*body)(const void* arguments);
  const void* arguments;
  /* The warp that runs: its first thread, its threads, which is the first of them to go on, how many had their turn. */
  int warp, warp_threads, warp_first, turns;
  char* stacks;
  ThPoint scheduler, ended; /* nobody goes back to a stack that has ended */
  ThThread thread[TH_MOST_THREADS];
};
static __thread ThBlock* th_block;

/* Of the warp that runs, the next thread that can go on; the scheduler where there is none. */
TH_UNLOGGED static ThPoint* th_next(ThBlock* block) {
  while (!block->is_wrong && block->turns < block->warp_threads) {
    int lane = block->warp_first + block->turns++;
    if (lane >= block->warp_threads) lane -= block->warp_threads;
    ThThread* thread = &block->thread[block->warp + lane];
    if (thread->state == TH_READY) return &thread->at;
  }
  return &block->scheduler;
}

/* Runs threads that have not begun, until one waits or all have begun. */
TH_UNLOGGED static void th_run_threads() {
  ThBlock* block = th_block;
  while (block->begun < block->threads) {
    const int number = block->next_to_begin;
    ++block->begun;
    block->next_to_begin = number + block->step - (number + block->step >= block->threads ? block->threads : 0);
    threadIdx.x = (unsigned)number;
    TH_TELL(thread());
    block->body(block->arguments);
    block->thread[number].state = TH_DONE;
  }
  th_switch(&block->ended, th_next(block));
}

#ifdef __SANITIZE_ADDRESS__
extern "C" void __asan_unpoison_memory_region(const volatile void*, unsigned long);
#endif

/* On a stack of its own, from a point of another one. */
TH_UNLOGGED static void th_begin_fiber(ThPoint* from) {
  char* stack = th_block->stacks + (long)th_block->fibers++ * TH_STACK;
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack, TH_STACK); /* a kernel that was wrong may have left it so */
#endif
  th_begin(from, stack, th_run_threads);
}

/* The thread waits for the lanes of the mask, or (0) for the block; on the way the others go on. */
__attribute__((noinline)) TH_UNLOGGED static void th_wait_at(int line, unsigned mask, const char* given) {
  ThBlock* block = th_block;
  ThIndex* index = &threadIdx;
  __asm__("" : "+r"(index)); /* asked for once: it is the thread's of the host */
  const unsigned number = index->x;
  ThThread* thread = &block->thread[number];
  thread->state = TH_WAITING;
  thread->line = line;
  thread->mask = mask;
  thread->is_shuffle = given != 0;
  if (given) __builtin_memcpy(thread->given, given, sizeof thread->given);
  if (block->begun < block->threads)
    th_begin_fiber(&thread->at);
  else
    th_switch(&thread->at, th_next(block));
  index->x = number;
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

/* Runs the threads of a warp as far as they come without others. */
static void th_run_warp(ThBlock* block, int first) {
  const int left = block->threads - first, count = left < TH_WARP ? left : (int)TH_WARP;
  block->warp = first;
  block->warp_threads = count;
  block->warp_first = block->first % count;
  for (bool any = true; any && !block->is_wrong;) {
    block->turns = 0;
    ThPoint* next = th_next(block);
    any = next != &block->scheduler;
    if (any) th_switch(&block->scheduler, next); /* until each has had its turn */
    if (block->is_wrong) return;
    for (int i = 0; i < count; ++i)
      if (block->thread[first + i].mask && th_release(block, first + i)) any = true;
  }
}

/* False where the kernel is wrong. One warp after the other runs ahead as far as it can, so that what it does too early
   is seen. */
static bool th_run_block(ThBlock* block) {
  const int warps = (block->threads + TH_WARP - 1) / TH_WARP;
  block->begun = block->fibers = block->turns = block->warp_threads = 0;
  block->next_to_begin = block->first;
  th_begin_fiber(&block->scheduler);
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

/* Runs blocks until none is left. False where the kernel is wrong. */
TH_UNLOGGED static bool th_run_blocks(long blocks, int threads, void (*body)(const void*), const void* arguments,
                                      ThShare* share, ThWrong* wrong) {
  const unsigned long order = th_order();
  ThBlock block;
  th_block = &block;
  block.threads = threads;
  block.first = (int)(order % (unsigned long)threads);
  block.step = (int)th_step(order, threads);
  block.warp_step = (int)th_step(order, (threads + TH_WARP - 1) / TH_WARP);
  block.is_wrong = false;
  block.body = body;
  block.arguments = arguments;
  block.stacks = share->stacks;
  blockDim = ThIndex{(unsigned)threads, 1, 1};
  gridDim = ThIndex{(unsigned)blocks, 1, 1};
  const long step = th_step(order, blocks), first = (long)(order % (unsigned long)blocks);
  bool is_right = true;
  while (is_right) {
    share->position = __atomic_fetch_add(share->next, 1, __ATOMIC_RELAXED);
    if (share->position >= blocks) break;
    const long number = (first + share->position * step) % blocks;
    blockIdx = ThIndex{(unsigned)number, 0, 0};
    TH_TELL(block(number));
    is_right = th_run_block(&block);
  }
  TH_TELL(block(-1));
  if (is_right) return true;
  *wrong = block.wrong;
  wrong->block = blockIdx.x;
  return false;
}

#endif
