// Whether the loss of a run grows: what is said of it while it trains and at its end.
#pragma once

#include <string>

#include "trainers/run/training.h"

namespace thtrain {

/// A warning where the training loss of the last epoch is above that of the epoch before by more than a tenth of what a
/// model has that knows nothing; "" where it is not. What only wavers near its minimum is no news.
std::string growth_warning(const Training& training);
/// TrainSummary::diverged, of a training that ended.
bool has_diverged(const Training& training);
/// What is said then.
std::string divergence_warning(const Training& training);

}  // namespace thtrain
