// Looking for values that are infinite, NaN or too large.
#pragma once

#include <limits>
#include <optional>

#include "compiler/ir/tensor.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// Which elements of floats and complex numbers are bad, in either part of a complex one.
struct BadValues {
  bool nan = true;
  bool infinity = true;
  /// Finite numbers whose size is above it; infinity: none.
  double above = std::numeric_limits<double>::infinity();
};

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// The row-major position of the first bad element; none where there is none, as in arrays of integers. The array may
/// have any strides.
std::optional<int64_t> first_bad(const Tensor& array, const BadValues& bad);
/// first_bad() for NaN and infinities.
std::optional<int64_t> first_non_finite(const Tensor& array);

}  // namespace thtrain
