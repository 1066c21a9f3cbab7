// The emulated driver and its NVRTC behind the symbols of the real ones: as libcuda.so.1 and libnvrtc.so.12 it is found
// and opened like these.
#include "compiler/cuda/emulated/driver.h"

using namespace thtrain::cuda;  // NOLINT

#define TH_REQUIRED(name, parameters)               \
  extern "C" Status(*resolve_##name()) parameters { \
    return emulated::driver().name;                 \
  }                                                 \
  extern "C" Status name parameters __attribute__((ifunc("resolve_" #name)));
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)
#include "compiler/cuda/driver_functions.inc"

#define TH_REQUIRED(name, parameters)               \
  extern "C" Status(*resolve_##name()) parameters { \
    return emulated::nvrtc().name;                  \
  }                                                 \
  extern "C" Status name parameters __attribute__((ifunc("resolve_" #name)));
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)
#include "compiler/cuda/nvrtc_functions.inc"
