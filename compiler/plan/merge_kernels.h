// Kernels that differ in constants alone become one kernel, which gets the constants as parameters.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

/// Merges kernels of which at least eight have the same statements but for floating-point constants and for constants
/// added to an index: one is compiled, and each call passes its own numbers. Constants on which all of them agree stay
/// where they are, and so do those that decide how the loops run: bounds, strides, lengths. Results keep their bits.
/// Programs with fewer kernels stay as they are. Time is linear in the text of the kernels.
void merge_kernels(Program& program);

}  // namespace thtrain
