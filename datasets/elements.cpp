#include "datasets/elements.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace thtrain {

namespace {

template <class T>
T element_at(const std::byte* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
}

/// Are products of 16-bit integers and this power of two exact in float32, so that they need no float64?
bool is_exact_in_float(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 && exponent > -100 && exponent < 100;
}

template <class Number>
bool are_finite(const Number* numbers, int64_t count) {
  // Infinities and NaN have all bits of the exponent set.
  using Bits = std::conditional_t<sizeof(Number) == 4, uint32_t, uint64_t>;
  const auto infinity = std::numeric_limits<Number>::infinity();
  Bits exponent = 0, bad = 0;
  std::memcpy(&exponent, &infinity, sizeof exponent);
  for (int64_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, numbers + i, sizeof bits);
    bad |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return bad == 0;
}

}  // namespace

template <class To>
void convert_elements(DType dtype, const std::byte* from, int64_t count, double scale, To* out) {
  visit(dtype, [&](auto zero) {
    using From = decltype(zero);
    if constexpr (!is_complex_v<From>) {
      auto at = [&](int64_t i) { return element_at<From>(from + i * static_cast<int64_t>(sizeof(From))); };
      if (scale == 1) {
        for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(at(i));
        return;
      }
      if constexpr (std::is_same_v<To, float> && std::is_integral_v<From> && sizeof(From) <= 2) {
        if (is_exact_in_float(scale)) {
          const auto factor = static_cast<float>(scale);
          for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(at(i)) * factor;
          return;
        }
      }
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(static_cast<double>(at(i)) * scale);
    }
  });
}

template void convert_elements<float>(DType, const std::byte*, int64_t, double, float*);
template void convert_elements<double>(DType, const std::byte*, int64_t, double, double*);

bool has_only_finite(const Tensor& tensor) {
  return tensor.dtype() == DType::kFloat32 ? are_finite(tensor.data<float>(), tensor.size())
                                           : are_finite(tensor.data<double>(), tensor.size());
}

}  // namespace thtrain
