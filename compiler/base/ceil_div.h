// Division of lengths that rounds up.
#pragma once

#include <cstdint>

namespace thtrain {

/// The least number of parts of length b that cover a; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace thtrain
