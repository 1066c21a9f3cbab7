// Error rules that several ops share, and the constants of rounding.
#pragma once

#include <limits>

#include "compiler/ir/op.h"

namespace thtrain {

inline constexpr double kUnknownError = std::numeric_limits<double>::infinity();

/// Of a floating dtype: half a step at 1, the smallest number, the largest one.
struct FloatLimits {
  double unit, tiny, largest;
};
FloatLimits float_limits(DType dtype);

bool all_zero(const Tensor& error);
bool all_finite(const Tensor& x);
/// |x| of every element, as float64.
Tensor magnitudes(const Tensor& x);
/// Roundings of a sum of `count` numbers in blocks, as native code adds (kernel::kReduceBlock).
double roundings_of_sum(int64_t count);

/// Nothing is known of any output.
std::vector<Tensor> unknown_errors(const ErrorArgs& args);
/// An op that moves elements: its errors are moved as they are.
std::vector<Tensor> moved_error(const ErrorArgs& args);
/// An op whose output 0 is its input 0.
std::vector<Tensor> passed_error(const ErrorArgs& args);
/// An op that is linear in each of its connected inputs, with coefficients that are not negative, and whose reference
/// takes float64 for floats: f(|x| + e) - f(|x|), and `roundings` of f(|x|).
std::vector<Tensor> multilinear_error(const ErrorArgs& args, double roundings);

}  // namespace thtrain
