// The functions of CUDA's libraries that programs for a device call, behind what they have asked of it: names and
// parameters are those of ops/linalg/library_functions.h, ops/fft/fft_functions.h, ops/factor/factor_functions.h and
// ops/sparse/cusparse_steps.h and cpu/conv/conv_functions.h, after ThContext* and what they use, or the number of the
// place in the entry (kernel::LibraryFunction). Addresses are the device's.
#pragma once

#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// "cublas_gemm_f32" and others for devices of NVIDIA, "emulated_cublas_gemm_f32" and others for the emulated one;
/// nullopt where the library is of no use.
NamedFunctions cublas_functions();
NamedFunctions cublaslt_functions();
NamedFunctions cufft_functions();
NamedFunctions cusolver_functions();
NamedFunctions cudnn_functions();
NamedFunctions cusparse_functions();

namespace detail {
/// A function of a library for both kinds of devices. The names of the emulated one's begin with "emulated_".
template <class Open>
void add_device_function(NamedFunctions& out, const std::string& name, const std::string& library, void* address,
                         Open open) {
  for (const bool is_emulated : {false, true})
    out[(is_emulated ? "emulated_" : "") + name] = [=]() -> std::optional<LibraryImplementation> {
      const auto& opened = open(is_emulated);
      if (!opened.trouble.empty()) return std::nullopt;
      return LibraryImplementation{address, library + " " + opened.version};
    };
}
}  // namespace detail

}  // namespace thtrain
