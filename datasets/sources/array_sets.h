// Sets of examples whose arrays are in files of their own: of the sources npy and idx, and of .npz archives.
#pragma once

#include <optional>

#include "datasets/array_file.h"
#include "datasets/load.h"

namespace thtrain {

/// The arrays of a set in their files.
struct SetArrays {
  ArrayFile x;
  std::optional<ArrayFile> y, weights = {}, lengths = {};
};

struct ArraySets {
  SetArrays train;
  std::optional<SetArrays> valid = {}, test = {};
  bool sequences = false;  // axis 1 of the examples counts the steps of sequences; with lengths it does anyway
  double byte_scale = 1;   // of uint8 examples, where the options give no scale
};

/// The arrays that `options` name: train_x, train_y, valid_x, valid_y, test_x, test_y, of which train_x is required;
/// train_w, valid_w, test_w: weights of the examples; train_l, valid_l, test_l: lengths of sequences. UserError for one
/// that is missing or cannot be opened.
ArraySets open_array_sets(const DatasetOptions& options, ArrayFile::Format format);

/// What fits into memory comes there; what does not stays in its file, or is refused by a UserError.
SourceData read_array_sets(const DatasetOptions& options, DType floatx, const ArraySets& sets);

}  // namespace thtrain
