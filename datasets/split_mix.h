// A generator of 64-bit words whose state is one number, so that each example can have its own.
#pragma once

#include <cstdint>

namespace thtrain {

/// SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class SplitMix {
 public:
  explicit SplitMix(uint64_t state) : state_(state) {}
  /// That of item `index` of part `part`: a function of the three numbers.
  static SplitMix of(uint64_t seed, uint64_t part, uint64_t index) {
    const uint64_t key = SplitMix(SplitMix(seed).next() ^ part).next();
    return SplitMix(SplitMix(key ^ index).next());
  }

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 <= i < n, for n below 2^32.
  uint64_t below(uint64_t n) { return (next() >> 32) * n >> 32; }
  /// -most to most, all alike.
  int32_t even(int32_t most) { return static_cast<int32_t>(below(2 * static_cast<uint64_t>(most) + 1)) - most; }
  /// -most to most, small ones more often: the mean of two.
  int32_t small(int32_t most) { return (even(most) + even(most)) / 2; }
  /// 0 <= u < 1, a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace thtrain
