// The C99 dialect: one element at a time, with libm alone. Every compiler of C takes it, on any machine.
#pragma once

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::c {

const Dialect& dialect();

}  // namespace thtrain::kernel::c
