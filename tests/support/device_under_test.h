// The device that tests of programs on devices run on.
#pragma once

#include <cstdlib>
#include <string>

#include "compiler/kernel/target.h"

namespace thtrain {

/// The emulated one; with THTRAIN_TEST_DEVICE=cuda the first of NVIDIA (bench/gpu_check.sh).
inline kernel::Target device_under_test() {
  const char* wanted = std::getenv("THTRAIN_TEST_DEVICE");
  return wanted && std::string(wanted) == "cuda" ? kernel::cuda_target() : kernel::emulated_cuda_target();
}

}  // namespace thtrain
