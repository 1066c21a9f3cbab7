// Data that can be read, but hardly learned from.
#pragma once

#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace thtrain {

/// A line for each doubt, "PLACE: WHAT; WHAT TO DO": packed examples that are shuffled within a window that nobody
/// chose, and of classes: labels that begin at 1, classes without training or validation
/// examples, as many classes as examples, many classes of few examples, one class, a header of numbers, examples sorted
/// by class that are taken in order (`shuffled` says whether the trainer shuffles them). Reads all labels of classes,
/// unless they are not learned. UserError as read_targets.
std::vector<std::string> data_warnings(const Dataset& data, bool shuffled, bool are_learned = true);

}  // namespace thtrain
