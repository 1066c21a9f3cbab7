// The C++ dialect: for g++ and clang++ alike, one thread for each part of a range, no standard headers.
#pragma once

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

/// With explicit vectors of 16, 32 or 64 bytes, and vector maths where the target has it.
const Dialect& dialect(const Target& target);

}  // namespace thtrain::kernel::cpp
