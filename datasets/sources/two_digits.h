// Pictures of two handwritten-like digits, side by side: which of the ten digits are in it?
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct TwoDigits {
  Tensor images;  // uint8 [n, 28, 56]
  Tensor labels;  // uint8 [n, 10]: 1 for each of the digits, and so one or two ones
};

/// Digits 2i and 2i + 1 of generate_digits(2n, seed, part) make picture i, left and right: the same bytes on every
/// machine.
TwoDigits generate_two_digits(int64_t n, int64_t seed, int64_t part);

struct TwoDigitsConfig : GeneratorConfig {
  static constexpr std::string_view kName = "two_digits";
  TwoDigitsConfig() {
    target = Targets::kLabels;
    scale = kPixelScale;
  }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<TwoDigitsConfig>& f);
};

}  // namespace thtrain
