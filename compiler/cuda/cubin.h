// Machine code of CUDA kernels: from CUDA C++ by NVRTC, or by nvcc where that is missing. Neither needs a device.
#pragma once

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

/// By NVRTC, or by nvcc where that is missing. UserError where there is neither.
std::string compile_cubin(std::string_view text, int compute_capability, const std::string& folder);

}  // namespace thtrain::cuda
