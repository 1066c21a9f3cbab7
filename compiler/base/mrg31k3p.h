// MRG31k3p: two multiple recursive generators of order 3, combined. P. L'Ecuyer, R. Touzin, "Fast combined multiple
// recursive generators with multipliers of the form a = +-2^d +- 2^e", Proceedings of the 2000 Winter Simulation
// Conference.
//
//   x[n] = 2^22 x[n-2] + (2^7 + 1) x[n-3]  mod 2^31 - 1
//   y[n] = 2^15 y[n-1] + (2^15 + 1) y[n-3]  mod 2^31 - 21069
//   z[n] = x[n] - y[n], and 2^31 - 1 more where that is not positive: 1 to 2^31 - 1
#pragma once

#include <array>
#include <cstdint>

namespace thtrain {

/// x[n-1], x[n-2], x[n-3], y[n-1], y[n-2], y[n-3].
class Mrg31k3p {
 public:
  static constexpr int64_t kModulus1 = 2147483647, kModulus2 = 2147462579;
  static constexpr int64_t kMultiplier2 = 21069;  // 2^31 modulo kModulus2
  using State = std::array<int32_t, 6>;

  explicit Mrg31k3p(const State& state) : state_(state) {}
  /// UserError unless the numbers are states: below the moduli, and no three of one generator 0.
  static void check_seed(const State& seed);

  const State& state() const { return state_; }
  /// The next z.
  int32_t next();
  /// Moves on by 2^power numbers.
  void jump(int power);

 private:
  State state_;
};

/// From one stream to the next, and from one substream to the next: 2^134 and 2^72 numbers.
inline constexpr int kMrgStreamJump = 134, kMrgSubstreamJump = 72;

}  // namespace thtrain
