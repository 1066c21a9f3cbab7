#include "compiler/ir/bad_values.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

template <class T>
static bool is_bad(T value, const BadValues& bad) {
  if (std::isnan(value)) return bad.nan;
  if (std::isinf(value)) return bad.infinity;
  return std::abs(static_cast<double>(value)) > bad.above;
}

// One test for 64 elements, which has no branch inside; what it lets through holds nothing bad.
template <class T>
static std::optional<int64_t> first_bad_of(const T* values, int64_t count, const BadValues& bad) {
  constexpr int64_t kBlock = 64;
  const double largest = std::numeric_limits<T>::max();
  const double above = bad.infinity || std::isfinite(bad.above) ? std::min(bad.above, largest) : bad.above;
  // The largest number of this type that is not above: rounding may have made it larger.
  T limit = static_cast<T>(above);
  if (static_cast<double>(limit) > above) limit = std::nextafter(limit, T(0));
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    bool suspicious = false;
    for (int64_t i = begin; i < end; ++i) suspicious |= !(std::abs(values[i]) <= limit);
    for (int64_t i = begin; suspicious && i < end; ++i)
      if (is_bad(values[i], bad)) return i;
  }
  return {};
}

std::optional<int64_t> first_bad(const Tensor& array, const BadValues& bad) {
  if (!is_float(array.dtype()) && !is_complex(array.dtype())) return {};
  const Tensor dense = array.on_host().contiguous();
  const int64_t parts = is_complex(dense.dtype()) ? 2 : 1, count = parts * dense.size();
  const bool wide = dense.dtype() == DType::kComplex128 || dense.dtype() == DType::kFloat64;
  std::optional<int64_t> found = wide ? first_bad_of(static_cast<const double*>(dense.raw()), count, bad)
                                      : first_bad_of(static_cast<const float*>(dense.raw()), count, bad);
  if (found) *found /= parts;
  return found;
}

std::optional<int64_t> first_non_finite(const Tensor& array) {
  return first_bad(array, {});
}

}  // namespace thtrain
