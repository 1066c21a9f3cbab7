// Ratings of items by users, a built-in matrix of which some elements are known.
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/data_config.h"
#include "datasets/matrix_elements.h"

namespace thtrain {

/// The sizes of the matrix, and what its elements are.
struct RatingsShape {
  int64_t users = 1000, items = 500;
  int64_t factors = 4;  // the rank of the matrix, but for noise and biases
  double noise = 0.5;   // standard deviation
};

/// `n` elements of one matrix, drawn alike: 3 + a bias of the user + one of the item + the inner product of `factors`
/// numbers of each + noise. Biases have a standard deviation of 0.5, the products of 1; all are normal, of
/// RandomState(seed). `part` (from 0) draws other elements of the same matrix.
MatrixElements generate_ratings(int64_t n, const RatingsShape& shape, int64_t seed, int64_t part);

struct RatingsConfig : GeneratorConfig, RatingsShape {
  static constexpr std::string_view kName = "ratings";
  RatingsConfig() { target = Targets::kValues; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<RatingsConfig>& f);
};

}  // namespace thtrain
