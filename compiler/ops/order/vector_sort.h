// What programs call to sort rows of numbers by vector instructions (libraries/sort/sort.h).
#pragma once

#include "compiler/ops/order/radix_sort.h"

/// The first k of each row of n elements in order, by vectors of so many. Elements are int32 or int64, or unsigned
/// where that is said, or floats. A thread takes `grain` elements at least. Rows that do not fit kSortStackBytes need
/// `work`: of each n elements, or 2 n where k < n. `in` and `out` have no element in common.
#define TH_SORT_PARAMETERS                                                                                       \
  int lanes, int descending, int is_unsigned, long grain, long rows, long n, long k, const void *in, void *work, \
      void *out

namespace thtrain {

/// Of a row's elements, where they are sorted on the stack of a thread.
inline constexpr int64_t kSortStackBytes = 192 << 10;

/// Are elements of that dtype sorted by vectors on the target, where their positions are not asked for?
bool has_vector_sort(const kernel::Target& target, DType dtype);
void lower_vector_sort(kernel::StepBuilder& b, const SortForm& form);

}  // namespace thtrain
