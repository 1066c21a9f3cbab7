// Kernels that sort rows on a device.
#pragma once

#include "compiler/kernel/step_builder.h"

namespace thtrain {

struct SortForm;

/// As lower_sort(), by merging runs: a block sorts up to 1024 elements in shared memory, one kernel after the other
/// merges runs twice as long in the arena. The position of an element in a merged run is its own position in its run
/// and the number of elements of the other run that come before it, which each thread finds by halving.
///
/// N. Satish, M. Harris, M. Garland, IPDPS 2009: merge sort by ranks.
void lower_device_sort(kernel::StepBuilder& b, const SortForm& form);

}  // namespace thtrain
