// Kernels that sort rows: stable, by the digits of integer keys whose order is that of the elements.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// How the last axis of a value is sorted, and what is wanted of it.
struct SortForm {
  bool descending = false;  // equal elements stay in their order then too
  bool positions = false;   // int64, of the elements; else the elements themselves
};

/// Adds kernels that sort each row of input 0 into output 0; both are row-major. NaN counts as larger than any number,
/// and -0 equals 0. Rows that are known to be short are sorted one by one in arrays on the stack, others part by part
/// in the arena. On a device runs are merged (device_sort.h), and by wide vectors elements of 4 and 8 bytes alone are
/// sorted by another algorithm (vector_sort.h).
///
/// Donald E. Knuth, The Art of Computer Programming, volume 3, section 5.2.5: distribution by one digit after the
/// other, from the least significant one; each pass is stable.
void lower_sort(kernel::StepBuilder& b, const SortForm& form);

}  // namespace thtrain
