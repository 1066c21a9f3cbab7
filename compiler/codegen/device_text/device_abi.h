// What the entry of a program calls whose kernels a device runs, after entry_abi.h. CMake embeds this text. Addresses
// of the device are the kernels' alone: the entry hands them on. What it asks for is done in that order, by the end of
// the next wait. Where something fails, the context's word of failure says so. docs/decisions/0021.
#ifndef THTRAIN_DEVICE_ABI_H
#define THTRAIN_DEVICE_ABI_H

struct ThDevice {
  char* host_arena;       /* as ThContext::arena, on the host */
  void* const* constants; /* those on the device, by their numbers */
  long* failure;          /* on the device: word, value and limit of the first check that a kernel failed */

  /* For each of the program's buffers, which have numbers, where it begins and where it ends: in ranges of numbers, not
     of addresses. Buffers whose ranges overlap share memory. */
  void (*buffers)(ThContext*, const long (*ranges)[2], int count);
  /* `uses`: numbers of the buffers that it reads, and ~number of those that it writes. `arguments`: addresses of what
     the kernel takes, and how many bytes each has. `checks`: 1 where the kernel may fail, 2 where it does nothing when
     one before it has failed; either takes `failure` last. */
  void (*launch)(ThContext*, int kernel, int checks, const int* uses, int use_count, long blocks, int threads,
                 void** arguments, const unsigned* sizes, int argument_count);
  /* The host's bytes stay as they are until the next wait. */
  void (*copy_in)(ThContext*, const int* uses, void* to, const void* from, long bytes);
  void (*copy_out)(ThContext*, const int* uses, void* to, const void* from, long bytes);
  /* What was asked for since the last wait is one graph, which has the number of the place in the entry; -1: it is
     launched piece by piece. */
  void (*wait)(ThContext*, int place);
  /* The same without waiting, at the end of a call: that is for who reads what it has computed. */
  void (*leave)(ThContext*, int place);
  /* Waits where a kernel that was launched since the last wait may fail. */
  void (*check)(ThContext*, int place);
  /* ThContext::allocate, on the device. */
  void* (*allocate)(ThContext*, int slot, long bytes);
};

#endif
