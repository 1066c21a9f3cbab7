#include "nn/finite.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

// x - x is 0 for finite numbers, else NaN; a sum of 64 of them is one test, and a loop that a compiler can vectorize.
template <class T>
static std::optional<int64_t> first_bad(const T* values, int64_t count) {
  constexpr int64_t kBlock = 64;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t end = std::min(count, begin + kBlock);
    T difference = 0;
    for (int64_t i = begin; i < end; ++i) difference += values[i] - values[i];
    if (difference == 0) continue;
    for (int64_t i = begin; i < end; ++i)
      if (!std::isfinite(values[i])) return i;
  }
  return {};
}

std::optional<int64_t> first_non_finite(const Tensor& array) {
  Tensor dense = array.contiguous();
  switch (dense.dtype()) {
    case DType::kFloat32:
      return first_bad(dense.data<float>(), dense.size());
    case DType::kFloat64:
      return first_bad(dense.data<double>(), dense.size());
    case DType::kComplex64:
    case DType::kComplex128: {
      bool wide = dense.dtype() == DType::kComplex128;
      auto found = wide ? first_bad(static_cast<double*>(dense.raw()), 2 * dense.size())
                        : first_bad(static_cast<float*>(dense.raw()), 2 * dense.size());
      if (found) *found /= 2;
      return found;
    }
    default:
      return {};
  }
}

}  // namespace thtrain
