#include "compiler/ir/compare.h"

#include <cmath>
#include <limits>

namespace thtrain {
namespace {

template <class T>
bool finite(T x) {
  if constexpr (is_complex_v<T>)
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  else
    return std::isfinite(x);
}

template <class T>
bool close(T a, T b, double allowed) {
  if constexpr (is_complex_v<T>) {
    return close(a.real(), b.real(), allowed) && close(a.imag(), b.imag(), allowed);
  } else {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
    return a == b || std::fabs(static_cast<double>(a) - static_cast<double>(b)) <= allowed;
  }
}

}  // namespace

std::optional<std::string> difference(const Tensor& got, const Tensor& expected, double ulps, bool of_largest,
                                      bool finite_only) {
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape())
    return str(got.type_text(), ", expected ", expected.type_text());
  Tensor a = got.contiguous(), b = expected.contiguous();
  return visit(a.dtype(), [&](auto zero) -> std::optional<std::string> {
    using T = decltype(zero);
    const T *x = a.data<T>(), *y = b.data<T>();
    int64_t n = a.size();
    double largest = 0, unit = 0;
    if constexpr (std::is_floating_point_v<T>) unit = static_cast<double>(std::numeric_limits<T>::epsilon());
    if constexpr (is_complex_v<T>) unit = static_cast<double>(std::numeric_limits<typename T::value_type>::epsilon());
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>)
      for (int64_t i = 0; of_largest && i < n; ++i)
        if (finite(y[i])) largest = std::max(largest, static_cast<double>(std::abs(y[i])));
    for (int64_t i = 0; i < n; ++i) {
      bool same;
      if constexpr (std::is_floating_point_v<T> || is_complex_v<T>)
        same = close(x[i], y[i],
                     ulps * unit * std::max(largest, finite(y[i]) ? static_cast<double>(std::abs(y[i])) : 0.0));
      else
        same = x[i] == y[i];
      if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) same = same || (finite_only && !finite(y[i]));
      if (same) continue;
      Shape index(a.rank());
      int64_t rest = i;
      for (size_t k = a.rank(); k-- > 0;) {
        index[k] = rest % a.shape()[k];
        rest /= a.shape()[k];
      }
      auto element = [](const Tensor& t, int64_t at) { return t.reshape({t.size()}).rows(at, 1).reshape({}).text(); };
      return str(shape_text(index), ": ", element(a, i), ", expected ", element(b, i));
    }
    return std::nullopt;
  });
}

}  // namespace thtrain
