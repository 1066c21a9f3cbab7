// The C++ dialect: for g++ and clang++ alike, one thread for each part of a range, no standard headers.
#pragma once

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

/// With explicit vectors of 16, 32 or 64 bytes.
const Dialect& dialect(int vector_bytes);

}  // namespace thtrain::kernel::cpp
