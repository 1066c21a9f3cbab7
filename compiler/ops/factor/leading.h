// What fixes the sign, or the phase, of an eigenvector or a singular vector.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace thtrain {

/// Rounding does not decide which of two elements of one modulus is the larger: both are large enough.
inline constexpr double kLeadingPart = 0.55;

/// The number of the first of n elements, `stride` apart, whose modulus is at least kLeadingPart of the largest.
template <class T>
int64_t leading_element(const T* x, int64_t n, int64_t stride) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(std::abs(x[i * stride])));
  for (int64_t i = 0; i < n; ++i)
    if (static_cast<double>(std::abs(x[i * stride])) >= kLeadingPart * largest) return i;
  return 0;
}

/// Do numbers have the same leading element that differ from these by at most `error`?
template <class T>
bool is_leading_certain(const T* x, int64_t n, int64_t stride, double error) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(std::abs(x[i * stride])));
  const int64_t leading = leading_element(x, n, stride);
  for (int64_t i = 0; i <= leading && i < n; ++i)
    if (std::abs(static_cast<double>(std::abs(x[i * stride])) - kLeadingPart * largest) <= 2 * error) return false;
  return true;
}

/// x divided by the sign of its leading element, which is given back.
template <class T>
T make_leading_positive(T* x, int64_t n, int64_t stride) {
  T* const leading = x + leading_element(x, n, stride) * stride;
  const auto size = std::abs(*leading);
  if (n == 0 || !(size > 0)) return T(1);
  const T sign = *leading / size;
  if constexpr (std::is_floating_point_v<T>) {
    if (sign < 0)
      for (int64_t i = 0; i < n; ++i) x[i * stride] = -x[i * stride];
  } else {
    for (int64_t i = 0; i < n; ++i) x[i * stride] *= std::conj(sign);
    *leading = size;
  }
  return sign;
}

}  // namespace thtrain
