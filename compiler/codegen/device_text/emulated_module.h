// What follows emulated_cuda.h and module_abi.h where the emulated driver launches the kernels: th_table(), and what it
// exports.
#ifndef THTRAIN_EMULATED_MODULE_H
#define THTRAIN_EMULATED_MODULE_H

template <class T>
struct ThIsPointer {
  enum { value = 0 };
};
template <class T>
struct ThIsPointer<T*> {
  enum { value = 1 };
};

/* Braces: arguments are taken from the left to the right. */
struct ThCall {
  template <class Kernel, class... Arguments>
  ThCall(Kernel kernel, Arguments... arguments) {
    kernel(arguments...);
  }
};

template <class... Parameters>
struct ThModuleParameters {
  static constexpr ThParameter list[] = {{sizeof(Parameters), ThIsPointer<Parameters>::value != 0}..., {0, false}};
  TH_UNLOGGED static void body(const void* of) {
    const ThModuleLaunch* launch = (const ThModuleLaunch*)of;
    int i = 0;
    ThCall{(void (*)(Parameters...))launch->kernel, *(Parameters*)launch->parameters[i++]...};
    (void)i;
  }
};

template <class... Parameters>
static ThModuleKernel th_entry(const char* name, void (*kernel)(Parameters...)) {
  return {name, (int)sizeof...(Parameters), ThModuleParameters<Parameters...>::list, (void (*)())kernel,
          ThModuleParameters<Parameters...>::body};
}

/* Did all go well? */
extern "C" TH_UNLOGGED bool th_run_kernel(const ThModuleKernel* kernel, ThModuleLaunch* launch) {
  ThWrong wrong{};
  TH_TELL(launch(launch->checks));
  if (th_run_blocks(launch->blocks, launch->threads, kernel->body, launch, &launch->share, &wrong)) return true;
  launch->block = wrong.block;
  launch->thread = wrong.thread;
  launch->line = wrong.line;
  launch->waiting = wrong.waiting;
  launch->wait_line = wrong.wait_line;
  launch->lane = wrong.lane;
  return false;
}
/* After a kernel that did not come to its end. */
extern "C" void th_abandon_kernel() {
  TH_TELL(block(-1));
}

#endif
