// Arrays in .npy files, or in .npz archives, as a source.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

/// The parts of open_array_sets(), each an .npy file or `file.npz[name]`.
ReadSource npy_reader(bool sequences = false);
/// files["npz"], an archive that holds arrays of those names (or x_train, y_train, ...).
ReadSource npz_reader();

struct NpyConfig : ArrayFiles {
  static constexpr std::string_view kName = "npy";
  bool sequences = false;
  std::optional<std::string> train_lengths, valid_lengths, test_lengths;
  bool has_sequences() const override { return sequences; }
  bool has_lengths() const override { return train_lengths.has_value(); }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<NpyConfig>& f);
};

}  // namespace thtrain
