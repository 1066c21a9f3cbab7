// How handles of libraries call them. Seen by the sources of this folder alone.
#pragma once

#include "compiler/base/error.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/math_functions.h"

/// Calls a function of a library, which throws where that is refused.
#define TH_MATH(functions, function, ...) check_math((functions).function(__VA_ARGS__), #function)

namespace thtrain::cuda {

/// The functions of a library. UserError where it is of no use.
template <class Functions>
const Functions& of_use(const Opened<Functions>& opened, const char* name) {
  if (!opened.trouble.empty()) throw UserError({.what = str(name, " is not there"), .got = opened.trouble});
  return opened.functions;
}

/// The workspace that NVIDIA recommends for products.
inline size_t cublas_workspace_bytes(const Device& device) {
  return size_t{device.compute_capability() >= 90 ? 32U : 4U} << 20;
}

}  // namespace thtrain::cuda
