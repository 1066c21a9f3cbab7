// The interface between a compiled function and the program that runs it: plain C, no headers, versioned.
// CMake embeds this text; it opens every generated source, and the runtime includes it. docs/decisions/0003.
#ifndef THTRAIN_ENTRY_ABI_H
#define THTRAIN_ENTRY_ABI_H

#ifdef __cplusplus
extern "C" {
#endif

#define TH_ABI_VERSION 11

/* One argument of the entry: inputs, shared variables, bound constants, then outputs. Row-major, aligned to its
 * element, in the memory that the program computes in. */
typedef struct ThTensor {
  void* data;
  const long* dims; /* one length for each axis, elements */
} ThTensor;

typedef struct ThContext ThContext;

/* The first check that did not hold. */
typedef struct ThFailure {
  volatile long word; /* 0: all held so far, what runs later may read that first; then the check's number + 1 */
  long value, limit;
} ThFailure;

#define TH_NO_CHECK (-2) /* in place of a check's number: the runtime knows what failed */

/* A loop body over [begin, end); `frame` holds its buffers and lengths. */
typedef void (*ThBody)(ThContext*, void* const* buffers, const long* lengths, long begin, long end);

struct ThContext {
  int version; /* TH_ABI_VERSION of the runtime; the entry checks it */
  int threads; /* how many parallel_for may use */
  char* arena; /* 64-byte aligned, at least as large as the program says */

  /* Calls body on a static partition of [0, n) into at most `threads` pieces, each at least `grain` long and (but the
     last) a multiple of `multiple`. The partition depends on n, grain, multiple and threads only. */
  void (*parallel_for)(ThContext*, ThBody body, void* const* buffers, const long* lengths, long n, long grain,
                       long multiple);

  /* The functions outside of the program that it lists, in the order of its list: BLAS and others. */
  void* const* library;

  /* Runs the reference of a step that no kernel is written for, on its inputs, then its outputs. */
  void (*call_reference)(ThContext*, int step, void* const* buffers);

  /* A check of the program did not hold: its number, and two values that its message shows. The first call writes
     `failure`, and the entry returns at the next step. Safe to call from a loop body. */
  void (*fail)(ThContext*, int check, long value, long limit);
  ThFailure failure;

  /* Before (after == 0) and after (after == 1) each step, in programs built with probes; null otherwise. The buffers
     are the step's inputs, then its outputs. `iterations`: their numbers, from 0, in the loops around
     the step, the outermost first; null outside loops. */
  void (*probe)(ThContext*, int step, int after, void* const* buffers, const long* iterations);

  /* A buffer whose lengths the data decides, aligned to 64 bytes: of output `slot`, or of a temporary, which have the
     slots after the outputs. Released by the runtime. May fail. */
  void* (*allocate)(ThContext*, int slot, long bytes);

  /* Output `number` is computed, and stays as it is. Called by programs made for it (EmitOptions::early_outputs). */
  void (*output_done)(ThContext*, int number);

  /* The last values of the lengths that bodies of loops and branches define, by their numbers. */
  long* lengths;

  struct ThDevice* device; /* device_text/device_abi.h, in a program for a device; else null */

  void* host; /* the runtime's own */
};

/* What a generated source exports as `thtrain_entry`. 0: done. 1: a check failed. 3: another TH_ABI_VERSION. */
typedef int (*ThEntry)(ThContext*, const ThTensor* args);

#ifdef __cplusplus
}
#endif
#endif
