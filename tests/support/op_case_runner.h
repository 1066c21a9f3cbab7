// Runs the test cases of ops: reference against native code, and derivatives against differences.
#pragma once

#include <complex>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// Input variables of a case and random values for them, the same for the same seed.
struct CaseInputs {
  std::vector<Expr> variables;
  std::vector<Tensor> values;
};
CaseInputs make_inputs(const OpCase& c, const std::string& prefix, uint64_t seed);

/// Values for inputs of these types where every named length is `length`: of few integers where it is small, so that
/// they stay locations in an axis. Integers from [0, 2) are truth values, as bools are: few, half or most of them are
/// true.
std::vector<Tensor> make_values(const OpCase& c, const std::vector<Type>& types, int64_t length, uint64_t seed);

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
