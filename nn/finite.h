// Looking for values that are infinite or NaN.
#pragma once

#include <optional>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// The row-major position of the first element that is infinite or NaN (in either part of a complex one); none where
/// all are finite, as integers always are. The array may have any strides.
std::optional<int64_t> first_non_finite(const Tensor& array);

}  // namespace thtrain
