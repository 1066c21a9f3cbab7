// MNIST's 60,000 + 10,000 digits of 28x28 pixels, in their four IDX files; the validation examples are the last of the
// training file.
//
// Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits".
#pragma once

#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

/// From the folder `files["folder"]`, or found (datasets/locate.h).
ReadSource mnist_reader();

struct MnistConfig : SplitConfig {
  static constexpr std::string_view kName = "mnist";
  MnistConfig() { scale = kPixelScale; }
  int64_t n_train = 50000;
  int64_t n_valid = 10000;
  int64_t n_test = 10000;
  SetSizes sizes() const override { return {folds > 0 ? -1 : n_train, folds > 0 ? -1 : n_valid, n_test}; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<MnistConfig>& f);
};

}  // namespace thtrain
