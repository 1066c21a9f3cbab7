// The mean of several measurements, and how far they are from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace thtrain {

struct Spread {
  int64_t count = 0;
  double mean = 0;                       // 0 of none
  std::optional<double> deviation = {};  // standard deviation of a sample, divided by n - 1; none of fewer than two
};
/// Of finite values.
Spread spread_of(const std::vector<double>& values);

}  // namespace thtrain
