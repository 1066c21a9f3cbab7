// What can be trained, but is most likely not what was meant: a model that does not suit its data.
#pragma once

#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "trainers/experiment.h"

namespace thtrain {

/// A line for each doubt: images whose channels seem to be the last axis, before a layer of images; an output that
/// decides between more classes than the data has.
std::vector<std::string> model_warnings(const Experiment& experiment, const Dataset& data);

}  // namespace thtrain
