// Elements of a sparse matrix in a file, each an example.
#pragma once

#include <string_view>

#include "datasets/data_config.h"
#include "datasets/matrix_elements.h"

namespace thtrain {

/// The stored elements of a Matrix Market file, or of an .npz as scipy.sparse.save_npz writes it, row by row or column
/// by column as it is stored. UserError as the readers, and where the numbers are complex or there is no element.
struct StoredElements {
  MatrixElements elements;
  int64_t width = 0;  // rows + columns
};
StoredElements read_elements(const std::string& path);

struct CoordinatesConfig : SetFiles {
  static constexpr std::string_view kName = "coordinates";
  CoordinatesConfig() { target = Targets::kValues; }
  void fill(DatasetOptions& out) const override;
  std::optional<Split> read_examples(const std::string& path, const KnownData& known) const override;
  static void describe(Fields<CoordinatesConfig>& f);
};

}  // namespace thtrain
