// What an experiment trains by and is measured by: its objective and its metrics as the data has them.
#pragma once

#include <memory>
#include <vector>

#include "datasets/dataset.h"
#include "nn/metric.h"
#include "nn/objective.h"
#include "trainers/experiment.h"
#include "trainers/history.h"

namespace thtrain {

/// The metrics that trainer.metrics asks for, first the one that trainer.monitor names; without any, the error of
/// classes or the loss. UserError where two have one name, none has the monitored one's, or that one has no order.
std::vector<std::shared_ptr<const Metric>> metrics_of(const TrainerConfig& config, bool has_classes);
MetricNames names_of(const std::vector<std::shared_ptr<const Metric>>& metrics);
/// loss.class_weights; empty without.
Expr class_weights_of(const LossConfig& config);
/// UserError where the objective takes classes alone, and the examples have other targets.
void check_targets(const Objective& objective, const Split& split);
/// Do these targets stand for classes?
bool has_classes(const Objective& objective, const Dataset& data);

/// Those with a number, and the loss at the end: what a run measures.
std::vector<std::shared_ptr<const Metric>> with_loss(std::vector<std::shared_ptr<const Metric>> metrics);

}  // namespace thtrain
