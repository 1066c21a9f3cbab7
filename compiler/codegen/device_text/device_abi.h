// What the entry of a program calls whose kernels a device runs, after entry_abi.h. CMake embeds this text. Addresses
// of the device are the kernels' alone: the entry hands them on. What it asks for is done in that order, by the end of
// the next wait. Where something fails, the context's word of failure says so. docs/decisions/0021.
#ifndef THTRAIN_DEVICE_ABI_H
#define THTRAIN_DEVICE_ABI_H

struct ThDevice {
  char* host_arena;       /* as ThContext::arena, on the host */
  void* const* constants; /* those on the device, by their numbers */
  long* failure;          /* on the device: word, value and limit of the first check that a kernel failed */

  /* `arguments`: addresses of what the kernel takes, in the very types of its parameters. One that may fail takes
     `failure` last. */
  void (*launch)(ThContext*, int kernel, int may_fail, long blocks, int threads, void** arguments);
  /* The host's bytes stay as they are until the next wait. */
  void (*copy_in)(ThContext*, void* to, const void* from, long bytes);
  void (*copy_out)(ThContext*, void* to, const void* from, long bytes);
  void (*wait)(ThContext*);
  /* Waits where a kernel that was launched since the last wait may fail. */
  void (*check)(ThContext*);
  /* ThContext::allocate, on the device. */
  void* (*allocate)(ThContext*, int slot, long bytes);
};

#endif
