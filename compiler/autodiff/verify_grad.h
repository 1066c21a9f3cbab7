// Derivatives compared with differences.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "compiler/autodiff/gradient.h"

namespace thtrain {

// ---- gradients ------------------------------------------------------------------------------------------------------

/// How verify_grad compares.
struct VerifyGradOptions {
  double step = 0;       // of the differences; 0: 1e-6 where an argument is float64, 3e-3 where it is float32
  double tolerance = 0;  // of |derivative - difference| / max(1, |derivative|); 0: 1e-5, and 1e-2 of float32
  int64_t elements = 0;  // at most about so many of each argument, evenly distributed; 0: all
  uint64_t seed = 1;     // of the weights
};

/// What verify_grad found.
struct GradReport {
  int64_t compared = 0;      // elements
  double largest_error = 0;  // |derivative - difference| / max(1, |derivative|): where it is largest, or NaN first
  size_t argument = 0;       // there: number in wrt
  std::vector<int64_t> index = {};
  double derivative = 0, difference = 0;
  bool is_right = true;  // no error is above the tolerance
  /// "12 elements agree, the largest error is 3e-10 at ...", or which one does not.
  std::string text;
};

/// Are the derivatives of the outputs by `wrt` those of central differences, at these values of the inputs? All by the
/// references of the ops, so that nothing is compiled. The outputs that are floats are added up under random weights
/// from 0.5 to 1.5, and each element of `wrt`, inputs with values, is moved by itself. What is not smooth at these
/// values, such as maximum(x, 0) at 0, has no difference to compare with. UserError as grad(), and where a `wrt` is no
/// input with a value.
GradReport verify_grad(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt,
                       const std::vector<std::pair<Expr, Tensor>>& values, const VerifyGradOptions& options = {},
                       std::source_location where = std::source_location::current());

}  // namespace thtrain
