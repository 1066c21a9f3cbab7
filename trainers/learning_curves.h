// The picture of a run: errors and training loss over the epochs.
#pragma once

#include <string>
#include <vector>

#include "trainers/history.h"

namespace thtrain {

/// A PNG of 960 x 400 pixels: on the left the validation and test errors in per cent, with a ring at the best epoch, on
/// the right the training loss. UserError where it cannot be written.
void draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history);

/// Round numbers from `low` to `high`, at most `count` + 1 of them: the ticks of an axis. `high` > `low`.
std::vector<double> axis_ticks(double low, double high, int count);

}  // namespace thtrain
