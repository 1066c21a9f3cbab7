// Are two results the same up to rounding? For the debug mode and the tests.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// nullopt where every element agrees; else "[3, 1]: 0.5, expected 0.25". Integers and bools must be equal. A floating
/// element may be off by `ulps` units of roundoff of its dtype, relative to the larger of its own size and (where
/// `of_largest`) the largest finite size among the expected elements; NaN agrees with NaN, an infinity with itself.
/// ulps == 0 asks for equal numbers (0 and -0 are equal). With
/// `finite_only`, elements whose expected value is not finite may be anything.
std::optional<std::string> difference(const Tensor& got, const Tensor& expected, double ulps, bool of_largest = true,
                                      bool finite_only = false);

}  // namespace thtrain
