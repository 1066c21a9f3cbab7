// Sets of examples whose files follow one another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "datasets/load.h"

namespace thtrain {

/// What one file holds: x [n, ...] and y [n, ...]; x has lengths only where it stays in the file, with a `source`.
struct JoinedPart {
  Tensor x, y;
  std::shared_ptr<const RowSource> source = {};
  std::vector<std::string> files = {};  // DataArray::files
  uint64_t held = 0;                    // bytes of a sparse source that is in memory
};

/// The part of the file at `path`; x may fill `room` bytes, and stays in the file where it would be more.
using ReadPart = std::function<JoinedPart(const std::string& path, uint64_t room)>;

/// The sets train, valid and test of the files in `options`, each read by `read` at its location in the configuration.
/// What fits into options.memory_limit, with its copy as `floatx`, comes into memory, one file after the other.
/// UserError as `read`, and where a file's examples differ in shape or type from those of the first file of its set.
SourceData read_sets(const DatasetOptions& options, DType floatx, const ReadPart& read);

}  // namespace thtrain
