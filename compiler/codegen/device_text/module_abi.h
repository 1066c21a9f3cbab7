// The interface between kernels that the host's compiler has compiled for the emulated device and the emulated driver
// (compiler/cuda/emulated/), which launches them. CMake embeds this text; it is the first of a module's.
#ifndef THTRAIN_MODULE_ABI_H
#define THTRAIN_MODULE_ABI_H

/* Of a stack: 640 KiB, and some lines of a cache, so that the tops of all do not meet in the same place of it. */
enum { TH_MOST_THREADS = 1024, TH_STACK = (640 << 10) + 576 };

/* Of one thread of the host: several share out the blocks of a launch. */
struct ThShare {
  char* stacks;  /* for the threads of a block, TH_STACK bytes each */
  long* next;    /* of the launch: so many blocks were begun */
  long position; /* out: among them, of the last that this thread has begun */
};

struct ThParameter {
  int bytes;
  bool is_pointer;
};

enum ThAccess { TH_READ, TH_WRITE, TH_ATOMIC, TH_ATOMIC_READ };

/* Who learns what a kernel does; a module that is compiled without checks tells nothing. False: the kernel must stop.
 */
struct ThChecks {
  void* checker;
  void (*block)(void* checker, long number); /* begins */
  /* So many bytes behind the array are nobody's. */
  bool (*shared)(void* checker, const char* name, const void* at, unsigned long bytes, unsigned long behind);
  bool (*access)(void* checker, ThAccess kind, const void* at, unsigned long bytes, unsigned long alignment, int thread,
                 const void* from);
  void (*index)(void* checker, int thread, const void* from); /* outside of an array of the thread's own */
  /* The block's threads have met at a barrier (mask 0), or those lanes of the warp that begins with `first`. */
  void (*meeting)(void* checker, int first, unsigned mask);
};

struct ThModuleLaunch {
  void (*kernel)();        /* that of the table */
  void* const* parameters; /* addresses of the arguments */
  long blocks;
  int threads;
  const ThChecks* checks; /* null: none */
  ThShare share;
  /* Out, of a kernel that is wrong: `thread` is not where `waiting` is. Line 0: it has ended; nobody waits, and the
     thread takes from a lane that gives nothing. */
  long block;
  int thread, line, waiting, wait_line, lane;
};

struct ThModuleKernel {
  const char* name;
  int parameter_count;
  const ThParameter* parameters;
  void (*kernel)();
  void (*body)(const void* launch); /* one thread */
};

#endif
