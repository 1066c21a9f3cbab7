// The picture of a run: metric, losses and learning rate over the epochs.
#pragma once

#include <string>
#include <vector>

#include "reports/axis.h"
#include "reports/history.h"

namespace thtrain {

/// The name of a run's folder, "mlp_digits-1", whatever path led to it.
std::string run_title(const std::string& path);

/// PATH.png and PATH.svg, 960 pixels wide; returns what was written, as Canvas::write(). On the left the metric that
/// the run goes by, on training, validation and test examples, with a star at the best epoch; on the right the losses;
/// where the metric is the loss, one panel has all, and its
/// training values are EpochReport::train_loss, as in metrics.jsonl. Below, the learning rate, where it changes.
/// `loss_scale` is that of the axes of losses; what a logarithmic one leaves out is told above its panel. UserError
/// where it cannot be written.
std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<EpochReport>& history,
                                              const MetricName& metric = {}, const std::string& title = "",
                                              ValueScale loss_scale = ValueScale::kAuto);
/// The epochs of all phases one after the other, with a line and a name where each begins. `metric` is that of the last
/// one; others are not drawn.
std::vector<std::string> draw_learning_curves(const std::string& path, const std::vector<PhaseHistory>& phases,
                                              const MetricName& metric, const std::string& title = "",
                                              ValueScale loss_scale = ValueScale::kAuto);

}  // namespace thtrain
