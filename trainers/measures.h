// What an experiment is measured by: its metrics, each of one output of the model.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/metric.h"
#include "nn/outputs.h"
#include "reports/history.h"
#include "trainers/experiment.h"
#include "trainers/outputs.h"

namespace thtrain {

/// A metric, and which of the outputs it measures; of none: the weighted sum of the outputs' losses.
struct OutputMetric {
  std::shared_ptr<const Metric> metric;
  std::optional<size_t> output = 0;
};

/// The metrics that trainer.metrics asks for, of the first output, first the one that trainer.monitor names; without
/// any, the error of classes or the loss. Of several outputs, then the loss of each. `has_classes`: does the first
/// output decide between classes? UserError where two have one name, none has the monitored one's, or that one has no
/// order.
std::vector<OutputMetric> metrics_of(const TrainerConfig& config, const WeightedObjectives& outputs, bool has_classes);
/// UserError: a metric of decisions is to measure an output that learns values. Other metrics say themselves what they
/// cannot take (Metric::parts).
void check_metrics(const std::vector<OutputMetric>& metrics, const std::vector<TrainedOutput>& outputs,
                   const Dataset& data);
MetricNames names_of(const std::vector<OutputMetric>& metrics);

/// Those with a number, and the loss at the end: what a run measures.
std::vector<OutputMetric> with_loss(std::vector<OutputMetric> metrics, const WeightedObjectives& outputs);
/// The loss of training, without penalties.
OutputMetric whole_loss(const WeightedObjectives& outputs);

}  // namespace thtrain
