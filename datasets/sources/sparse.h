// Sparse matrices of examples in files of their own, with labels in arrays.
#pragma once

#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct SparseConfig : ArrayFiles {
  static constexpr std::string_view kName = "sparse";
  void fill(DatasetOptions& out) const override;
  std::optional<Split> read_examples(const std::string& path, const KnownData& known) const override;
  static void describe(Fields<SparseConfig>& f);
};

}  // namespace thtrain
