// The native side of draws from MT19937 states (ops/random/draw_functions.h).
#pragma once

#include "compiler/libraries/library_functions.h"

namespace thtrain {

NamedFunctions random_functions();

}  // namespace thtrain
