// Arrays in files of MNIST's IDX format as a source.
#pragma once

#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

/// The parts of open_array_sets(), each an IDX file, with or without gzip. Examples of uint8 are pixels.
ReadSource idx_reader();

struct IdxConfig : ArrayFiles {
  static constexpr std::string_view kName = "idx";
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<IdxConfig>& f);
};

}  // namespace thtrain
