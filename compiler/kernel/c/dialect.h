// The C99 dialect: one element at a time, with libm alone. For every compiler of C whose `long` has 64 bits.
#pragma once

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::c {

const Dialect& dialect();

}  // namespace thtrain::kernel::c
