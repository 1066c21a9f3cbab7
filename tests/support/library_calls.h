// What programs on the device under test call of its libraries.
#pragma once

#include <string>

#include "compiler/runtime/function.h"
#include "tests/support/device_under_test.h"

namespace thtrain {

/// The functions, as `explain` lists them: "emulated_cublas_gemm_f32"; "none" where it calls none.
inline std::string called_libraries(const Function& f) {
  const std::string text = f.explain().device, before = "// calls of libraries: ";
  const size_t at = text.find(before);
  return at == std::string::npos ? "none" : text.substr(at + before.size(), text.find('\n', at) - at - before.size());
}

/// What a program calls the function of a library: those of the emulated device have other names.
inline std::string name_on_device(const std::string& function) {
  return (device_under_test().is_emulated() ? "emulated_" : "") + function;
}

}  // namespace thtrain
