// Random values for the test cases of ops: what tests run them on, and what `thtrain info --ops` takes error bounds of.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/op.h"

namespace thtrain {

/// Input variables of a case and random values for them, the same for the same seed.
struct CaseInputs {
  std::vector<Expr> variables;
  std::vector<Tensor> values;
};
CaseInputs make_inputs(const OpCase& c, const std::string& prefix, uint64_t seed);

inline constexpr int64_t kCaseLength = 5;  // a named length, unless a test wants another: no case may depend on which

/// Lengths of a type whose named lengths are all `length`.
Shape case_shape(const Type& type, int64_t length);

/// Of truth values, in turn: about half of them true; so few, or all but so few, that a slice need not have any.
double share_of_true(const Shape& shape, uint64_t seed);

/// Values for inputs of these types where every named length is `length`: of few integers where it is small, so that
/// they stay locations in an axis. Integers from [0, 2) are truth values, as bools are: few, half or most of them are
/// true.
std::vector<Tensor> make_values(const OpCase& c, const std::vector<Type>& types, int64_t length, uint64_t seed);

}  // namespace thtrain
