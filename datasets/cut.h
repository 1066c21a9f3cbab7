// From what the files hold to the training, validation and test examples.
#pragma once

#include <optional>

#include "datasets/load.h"

namespace thtrain {

/// What the files hold.
struct FileSplits {
  Split whole;  // the training file
  std::optional<Split> valid = {}, test = {};
  int64_t valid_default = 0;  // rows of `whole` that validate, where nothing else is said
};

/// Makes the three splits of `out`. What has no file of its own is cut from the training file as `options` say.
/// UserError at their positions: rows that are not there, examples or targets of other shapes than the training file's.
void cut_dataset(const DatasetOptions& options, DType floatx, const FileSplits& files, Dataset& out);

/// Gives the examples of all sets the shape and the crop of the options, where there are some. UserError as
/// Split::set_image_shape and Split::set_crop.
void cut_images(const DatasetOptions& options, Dataset& data);

}  // namespace thtrain
