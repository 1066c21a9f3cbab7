// The distance of a floating-point number from an exact value.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace thtrain {

/// |got - exact| in units of the last place: of the distance of the numbers of type T around `exact` (the smallest
/// number where that is subnormal); infinity stands for the power of two that follows the largest number. 0 where `got`
/// is the number nearest to `exact`; infinite where one alone is NaN, where the exact value is infinite and `got` is
/// not, and for a zero of the wrong sign.
template <class T>
double ulps(T got, long double exact) {
  using Limits = std::numeric_limits<T>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) && std::isnan(exact) ? 0 : inf;
  if (got == 0 && std::signbit(got) != std::signbit(exact)) return inf;
  if (got == static_cast<T>(exact)) return 0;
  if (std::isinf(exact)) return inf;
  long double value = std::isinf(got) ? std::copysign(std::ldexp(1.0L, Limits::max_exponent), got) : got;
  constexpr int smallest =
      Limits::min_exponent - 1;  // numbers of that exponent and subnormal ones lie equally far apart
  int exponent = exact == 0 ? smallest : std::max(std::ilogb(exact), smallest);
  return static_cast<double>(std::ldexp(std::abs(value - exact), Limits::digits - 1 - exponent));
}

}  // namespace thtrain
