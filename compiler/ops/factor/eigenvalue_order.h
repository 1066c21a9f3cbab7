// In which order the eigenvalues of a general matrix are.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace thtrain {

/// The numbers of the n eigenvalues in the order of their real parts. Real parts that differ by rounding alone (by less
/// than the root of the precision, of the largest modulus) count as equal: the imaginary parts decide.
template <class T>
std::vector<int64_t> order_of_eigenvalues(const std::complex<T>* w, int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  T largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(w[i]));
  const T near = std::sqrt(std::numeric_limits<T>::epsilon()) * largest;
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return w[i].real() < w[j].real(); });
  for (auto first = order.begin(); first != order.end();) {
    auto last = first + 1;
    while (last != order.end() && w[*last].real() - w[*(last - 1)].real() <= near) ++last;
    std::stable_sort(first, last, [&](int64_t i, int64_t j) { return w[i].imag() < w[j].imag(); });
    first = last;
  }
  return order;
}

}  // namespace thtrain
