// What follows emulated_cuda.h and module_abi.h where a kernel's loads and stores are checked. The compiler's option
// -fsanitize=thread calls a function at each of them; these are the functions, so the kernel's text stays as it is.
#ifndef THTRAIN_EMULATED_CHECKS_H
#define THTRAIN_EMULATED_CHECKS_H

static const ThChecks* th_checks; /* null: none */
static bool th_is_logging;        /* while a block runs */
enum { TH_BEHIND = 64 };          /* elements behind each shared array that nobody may touch */

TH_UNLOGGED static void th_tell_launch(const ThChecks* checks) {
  th_checks = checks;
}
TH_UNLOGGED static void th_tell_block(long number) {
  th_is_logging = th_checks && number >= 0;
  if (th_is_logging) th_checks->block(th_checks->checker, number);
}
TH_UNLOGGED static void th_tell_meeting(int first, unsigned mask) {
  if (th_checks) th_checks->meeting(th_checks->checker, first, mask);
}

/* The kernel's block comes to its end, and this thread goes no further. */
TH_UNLOGGED static void th_stop() {
  th_block->is_wrong = true;
  th_switch(&th_block->ended, &th_block->scheduler);
}
TH_UNLOGGED static bool th_is_in(const void* begin, unsigned long bytes, const void* at) {
  return (unsigned long)at - (unsigned long)begin < bytes;
}
TH_UNLOGGED static void th_log(ThAccess kind, const void* at, unsigned long bytes, unsigned long alignment,
                               const void* from) {
  if (!th_is_logging) return;
  if (th_is_in(th_block->stacks, (unsigned long)th_block->threads * TH_STACK, at) ||
      th_is_in(th_block, sizeof *th_block, at) || th_is_in(&th_index, sizeof th_index, at))
    return; /* the thread's own */
  if (!th_checks->access(th_checks->checker, kind, at, bytes, alignment, (int)threadIdx.x, from)) th_stop();
}
TH_UNLOGGED static void th_tell_atomic(const void* at, unsigned long bytes, const void* from) {
  th_log(TH_ATOMIC, at, bytes, bytes, from);
}

/* Follows the definition of a shared array, on its line. */
template <class T, unsigned long all>
TH_UNLOGGED inline void th_shared(const char* name, T (&array)[all]) {
  if (th_is_logging &&
      !th_checks->shared(th_checks->checker, name, array, (all - TH_BEHIND) * sizeof(T), TH_BEHIND * sizeof(T)))
    th_stop();
}

/* Registers that nobody wrote are not 0: a thread begins on a stack full of ones. */
TH_UNLOGGED __attribute__((noinline)) static void th_tell_thread() {
  char below[8192];
  if (th_is_logging) __builtin_memset(below, 0xff, sizeof below);
  __asm__ volatile("" : : "r"(below) : "memory");
}

#define TH_HOOK extern "C" __attribute__((visibility("hidden"))) TH_UNLOGGED void
#define TH_LOGGED(name, kind, bytes, alignment)                      \
  TH_HOOK name(void* at) {                                           \
    th_log(kind, at, bytes, alignment, __builtin_return_address(0)); \
  }
#define TH_LOGGED_SIZE(bytes)                                \
  TH_LOGGED(__tsan_read##bytes, TH_READ, bytes, bytes)       \
  TH_LOGGED(__tsan_write##bytes, TH_WRITE, bytes, bytes)     \
  TH_LOGGED(__tsan_unaligned_read##bytes, TH_READ, bytes, 1) \
  TH_LOGGED(__tsan_unaligned_write##bytes, TH_WRITE, bytes, 1)
TH_LOGGED_SIZE(1)
TH_LOGGED_SIZE(2)
TH_LOGGED_SIZE(4)
TH_LOGGED_SIZE(8)
TH_LOGGED_SIZE(16)
/* Of a volatile number: by an aligned load, which no other access tears. */
TH_LOGGED(__tsan_volatile_read8, TH_ATOMIC_READ, 8, 8)
TH_HOOK __tsan_read_range(void* at, long bytes) {
  th_log(TH_READ, at, (unsigned long)bytes, 1, __builtin_return_address(0));
}
TH_HOOK __tsan_write_range(void* at, long bytes) {
  th_log(TH_WRITE, at, (unsigned long)bytes, 1, __builtin_return_address(0));
}
TH_HOOK __ubsan_handle_out_of_bounds(void*, void*) {
  if (!th_is_logging) return;
  th_checks->index(th_checks->checker, (int)threadIdx.x, __builtin_return_address(0));
  th_stop();
}
TH_HOOK __tsan_init() {}
TH_HOOK __tsan_func_entry(void*) {}
TH_HOOK __tsan_func_exit(void*) {}

#endif
