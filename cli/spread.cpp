#include "cli/spread.h"

#include <cmath>

namespace thtrain {

Spread spread_of(const std::vector<double>& values) {
  Spread out{.count = static_cast<int64_t>(values.size())};
  const auto count = static_cast<double>(values.size());
  if (values.empty()) return out;
  for (double v : values) out.mean += v;
  out.mean /= count;
  if (values.size() < 2) return out;
  double squares = 0;
  for (double v : values) squares += (v - out.mean) * (v - out.mean);
  out.deviation = std::sqrt(squares / (count - 1));
  return out;
}

}  // namespace thtrain
