// The emulated driver, its NVRTC and its libraries of mathematics behind the symbols of the real ones: as libcuda.so.1,
// libnvrtc.so.12, libcublas.so.12, libcublasLt.so.12, libcufft.so.11 and libcudnn.so.9 it is found and opened like
// these.
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/math_libraries.h"

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

#define TH_REQUIRED(name, parameters)               \
  extern "C" Status(*resolve_##name()) parameters { \
    return emulated::cublas().functions.name;       \
  }                                                 \
  extern "C" Status name parameters __attribute__((ifunc("resolve_" #name)));
#include "compiler/cuda/cublas_functions.inc"

#define TH_REQUIRED(name, parameters)               \
  extern "C" Status(*resolve_##name()) parameters { \
    return emulated::cublaslt().functions.name;     \
  }                                                 \
  extern "C" Status name parameters __attribute__((ifunc("resolve_" #name)));
#include "compiler/cuda/cublaslt_functions.inc"

#define TH_REQUIRED(name, parameters)               \
  extern "C" Status(*resolve_##name()) parameters { \
    return emulated::cufft().functions.name;        \
  }                                                 \
  extern "C" Status name parameters __attribute__((ifunc("resolve_" #name)));
#include "compiler/cuda/cufft_functions.inc"

#define TH_REQUIRED(name, parameters)               \
  extern "C" Status(*resolve_##name()) parameters { \
    return emulated::cudnn().functions.name;        \
  }                                                 \
  extern "C" Status name parameters __attribute__((ifunc("resolve_" #name)));
#include "compiler/cuda/cudnn_functions.inc"
