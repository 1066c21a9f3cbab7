// Friedman's first function, a built-in problem of regression.
//
//   y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + noise
//
// x is uniform in [0, 1)^10, so that five of its numbers do not matter; the noise is normal. J. H. Friedman,
// "Multivariate adaptive regression splines", The Annals of Statistics 19(1), 1991, section 4.3.
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct Friedman {
  Tensor x;  // float64 [n, 10]
  Tensor y;  // float64 [n]
};

/// `n` examples: the numbers of scikit-learn's make_friedman1(n, noise=noise, random_state=s), where s is the number
/// `part` (from 0) that RandomState(seed).next_uint32() gives.
Friedman generate_friedman(int64_t n, double noise, int64_t seed, int64_t part);

struct FriedmanConfig : GeneratorConfig {
  static constexpr std::string_view kName = "friedman";
  FriedmanConfig() { target = Targets::kValues; }
  double noise = 1;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<FriedmanConfig>& f);
};

}  // namespace thtrain
