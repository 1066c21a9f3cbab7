// One number as another dtype, for Tensor::cast and the reference of the op cast.
#pragma once

#include <limits>
#include <type_traits>

#include "compiler/ir/dtype.h"

namespace thtrain {

/// x != 0 as bool; a float as an integer loses its fraction, is the nearest one where the type cannot hold it, and 0 of
/// NaN; integers wrap around; of complex numbers the real part, unless To is complex or bool.
template <class To, class From>
To convert(From x) {
  if constexpr (is_complex_v<From> && is_complex_v<To>) {
    return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_complex_v<From>) {
    return convert<To>(x.real());
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr To kLeast = std::numeric_limits<To>::min(), kGreatest = std::numeric_limits<To>::max();
    if (x != x) return 0;
    if (x <= static_cast<From>(kLeast)) return kLeast;
    if (x >= static_cast<From>(kGreatest)) return kGreatest;  // which may be rounded to a number above it
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace thtrain
