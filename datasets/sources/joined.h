// Sets of examples whose files stand one after the other.
#pragma once

#include <functional>
#include <string>

#include "datasets/load.h"

namespace thtrain {

/// What one file holds: x [n, ...] and y [n, ...].
struct JoinedPart {
  Tensor x, y;
};

/// The sets train, valid and test of the files in `options`, each read by `read` at its place in the configuration.
/// UserError as `read`, and where a file's examples differ in shape or type from those of the first file of its set.
SourceData read_sets(const DatasetOptions& options, const std::function<JoinedPart(const std::string& path)>& read);

}  // namespace thtrain
