// Polynomials for functions on an interval: Chebyshev's series, cut where the dtype ends.
#pragma once

#include <vector>

#include "compiler/kernel/term.h"

namespace thtrain {

/// The coefficients were computed by interpolation in Chebyshev's nodes with 40 digits, written as powers of
/// (2 x - from - to) / (to - from), the highest first; errors are 2^-57 and 2^-27 of the least value on the interval.
struct Series {
  double from, to;
  std::vector<double> of_double, of_float;
};

/// A number of x's dtype.
inline kernel::Term number_like(const kernel::Term& x, double value) {
  return kernel::constant(x.dtype(), value);
}
/// Its value at x; anything outside of the interval.
kernel::Term value_of(const Series& series, const kernel::Term& x);
/// The polynomial of such coefficients in x itself.
kernel::Term polynomial_of(const std::vector<double>& coefficients, const kernel::Term& x);

}  // namespace thtrain
