// Seconds on a clock that nobody sets.
#pragma once

#include <chrono>

namespace thtrain {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
/// Since some moment that a process does not change: differences count.
inline double seconds_now() {
  return seconds_since({});
}

}  // namespace thtrain
