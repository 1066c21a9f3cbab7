// The dialect of CUDA C++: kernels for devices, one element at a time. No headers: the names are those that NVRTC
// knows.
#pragma once

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cuda {

const Dialect& dialect();

}  // namespace thtrain::kernel::cuda
