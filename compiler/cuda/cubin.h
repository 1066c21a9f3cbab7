// Machine code of CUDA kernels: from CUDA C++ by NVRTC, or by nvcc where that is missing. Neither needs a device.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cuda/functions.h"

namespace thtrain::cuda {

/// "--gpu-architecture=sm_90" and those that decide bits: nothing is contracted or flushed, division and square root
/// are rounded correctly. NVRTC and nvcc take the same.
std::vector<std::string> cubin_options(int compute_capability);

/// The machine code of a text without headers for devices of that compute capability (90: sm_90). InternalError with
/// the compiler's complaints where it refuses the text.
std::string compile_cubin(const Nvrtc& nvrtc, std::string_view text, int compute_capability);
/// The same by nvcc, which takes a file: `nvcc` is its path, `folder` one for its files.
std::string compile_cubin(const std::string& nvcc, std::string_view text, int compute_capability,
                          const std::string& folder);

/// What makes machine code, and the version that its bits depend on.
struct CubinCompiler {
  std::string version;  // "NVRTC 13.0"
  std::function<std::string(const std::string& text, int compute_capability)> compile;
};
/// NVRTC, or nvcc where that is missing. UserError where there is neither.
CubinCompiler cubin_compiler();

/// The machine code of each text. It is kept in the cache on disk by text, options and the compiler's version; what is
/// not there is compiled, several texts at once.
std::vector<std::string> cached_cubins(const CubinCompiler& compiler, std::span<const std::string> texts,
                                       int compute_capability);

}  // namespace thtrain::cuda
