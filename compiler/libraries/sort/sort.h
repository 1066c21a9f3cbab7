// The elements of rows in order, by quicksort with vector instructions (quicksort.h).
#pragma once

#include "compiler/libraries/library_functions.h"

namespace thtrain {

/// "sort_f32", "sort_f64", "sort_i32", "sort_i64" (ops/order/vector_sort.h).
NamedFunctions sort_functions();

}  // namespace thtrain
