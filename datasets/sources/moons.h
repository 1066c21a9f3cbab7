// Two half circles that reach into each other, a built-in problem that no line separates.
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct Moons {
  Tensor x;  // float64 [n, 2]
  Tensor y;  // int64 [n]: 0 above, 1 below
};

/// `n` examples, the two classes in turn as long as both have some: the numbers of scikit-learn's make_moons(n,
/// shuffle=False, noise=noise, random_state=s), where s is the number `part` (from 0) that
/// RandomState(seed).next_uint32() gives.
Moons generate_moons(int64_t n, double noise, int64_t seed, int64_t part);

struct MoonsConfig : GeneratorConfig {
  static constexpr std::string_view kName = "moons";
  double noise = 0.2;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<MoonsConfig>& f);
};

}  // namespace thtrain
