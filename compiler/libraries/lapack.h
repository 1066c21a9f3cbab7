// The functions of LAPACK that programs call; OpenBLAS has them.
#pragma once

#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// By the names that programs list (ops/factor/factor_functions.h).
NamedFunctions lapack_functions();
NamedFunctions decomposition_functions();

}  // namespace thtrain
