#include "datasets/weight_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thtrain {

void check_weight_sums(const Split& split, DType floatx) {
  if (!split.has_weights() || split.size() == 0) return;
  const bool is_float32 = floatx == DType::kFloat32;
  const double most = is_float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max(),
               least = is_float32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const DataArray& array = split.weights_array();
  auto fail = [&](std::string what, std::string expected, std::string got, bool counts) {
    throw UserError({.what = std::move(what),
                     .expected = std::move(expected),
                     .got = std::move(got),
                     .config = array.where,
                     .hint = counts ? counting_hint(array) : ""});
  };
  constexpr int64_t kPiece = 1 << 16;
  double sum = 0;
  for (int64_t begin = 0; begin < split.size(); begin += kPiece) {
    const Tensor piece = split.read_weights(begin, std::min(kPiece, split.size() - begin), DType::kFloat64);
    for (int64_t i = 0; i < piece.size(); ++i) {
      const double weight = piece.as_double(i);
      if (!std::isfinite(weight) || weight < 0) return;
      if (weight > 0 && weight < least)
        fail(str(row_location(array, split.file_row(begin + i)), ": the weight is too small for ", name_of(floatx)),
             str("0, or at least ", number_text(least)), number_text(weight), true);
      sum += weight;
    }
  }
  if (sum == 0)
    fail(str(array.origin, ": all examples have weight 0"), "a weight above 0 for some of them",
         str(split.size(), " examples without weight"), false);
  if (!(sum <= most))
    fail(str(array.origin, ": the weights are too large for ", name_of(floatx)),
         str("a sum of at most ", number_text(most)), number_text(sum), false);
}

}  // namespace thtrain
