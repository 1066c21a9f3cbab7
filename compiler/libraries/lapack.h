// The functions of LAPACK that programs call; OpenBLAS has them.
#pragma once

#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// By the names that programs list. LAPACK counts in int: a matrix of 2^31 rows or more fails with status -1.
NamedFunctions lapack_functions();

}  // namespace thtrain
