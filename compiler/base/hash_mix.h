// Hashes of several values.
#pragma once

#include <cstddef>

namespace thtrain {

/// Mixes a further value into a hash; the order of the values counts.
inline void mix(size_t& hash, size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
}

}  // namespace thtrain
