// Runs the test cases of ops: reference against native code, and derivatives against differences.
#pragma once

#include <complex>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/case_inputs.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// Has the op a result for any values of its inputs? (Not where they are locations, or floats that become integers.)
bool takes_any_values(const Op& op);

/// Values for the same inputs that are hard on comparisons and signs, for an op that takes any: equal ones, zeros of
/// both signs, infinities, NaN. With the seed it changes how many elements are zero: few, half, most.
std::vector<Tensor> make_hard_values(const Op& op, const std::vector<Type>& types, uint64_t seed);

/// The element in row-major order; its imaginary part is 0 where the dtype is not complex.
std::complex<double> complex_element(const Tensor& x, int64_t i);

/// The mean of the outputs' floating elements under fixed random weights: a scalar to differentiate.
Expr projection(const std::vector<Expr>& outputs, uint64_t seed);

}  // namespace thtrain
