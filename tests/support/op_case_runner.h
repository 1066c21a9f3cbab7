// Runs the test cases of ops: reference against native code, and derivatives against differences.
#pragma once

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
/// they stay places in an axis.
std::vector<Tensor> make_values(const OpCase& c, const std::vector<Type>& types, int64_t length, uint64_t seed);

/// The mean of the outputs' floating elements under fixed random weights: a scalar to differentiate.
Expr projection(const std::vector<Expr>& outputs, uint64_t seed);

}  // namespace thtrain
