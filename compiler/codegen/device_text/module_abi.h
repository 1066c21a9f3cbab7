// The interface between kernels that the host's compiler has compiled for the emulated device and the emulated driver
// (compiler/cuda/emulated/), which launches them.
#ifndef THTRAIN_MODULE_ABI_H
#define THTRAIN_MODULE_ABI_H

struct ThParameter {
  int bytes;
  bool is_pointer;
};

struct ThModuleLaunch {
  void (*kernel)();        /* that of the table */
  void* const* parameters; /* addresses of the arguments */
  long blocks;
  int threads;
  long wrong_thread, wrong_block; /* out: of a kernel that is wrong */
};

struct ThModuleKernel {
  const char* name;
  int parameter_count;
  const ThParameter* parameters;
  void (*kernel)();
  void (*body)(const void* launch); /* one thread */
};

#endif
