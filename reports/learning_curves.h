// The picture of a run: errors and training loss over the epochs.
#pragma once

#include <string>
#include <vector>

#include "reports/history.h"

namespace thtrain {

/// A PNG of 960 x 400 pixels: on the left the metric that the run goes by, on training, validation and test examples,
/// with a ring at the best epoch, on the right the losses. UserError where it cannot be written.
std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history,
                                              const MetricName& metric = {});
/// The epochs of all phases one after the other, with a line and a name where each begins. `metric` is that of the last
/// one; others are not drawn.
std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<PhaseHistory>& phases,
                                              const MetricName& metric);

}  // namespace thtrain
