// A learning-rate range test: one training in which the learning rate rises from minibatch to minibatch.
//
// L. N. Smith, "Cyclical learning rates for training neural networks", WACV 2017, section 3.3, with rates in a
// geometric sequence instead of a linear one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainers/experiment.h"

namespace thtrain {

struct Dataset;

struct LrRangeOptions {
  double low = 1e-6, high = 1;  // the first and the last learning rate
  int64_t steps = 200;          // minibatches, of as many epochs as it takes
};

struct LrRange {
  struct Step {
    double rate = 0, loss = 0;  // the loss of the minibatch before the step of that rate
    double smoothed = 0;
  };
  std::vector<Step> steps = {};  // those whose loss was finite
  /// The rate at which it was stopped: the loss was not finite, or the mean of the last losses was above twice the mean
  /// of the first ones.
  std::optional<double> diverged_at = {};
  bool is_finite = true;  // was the last loss?
  /// The step before the lowest smoothed loss at which it falls fastest over the logarithm of the rate; none where it
  /// does not fall.
  std::optional<size_t> steepest = {};
  size_t lowest = 0;  // the step with the lowest smoothed loss
};

/// Trains a model of its own, which nothing keeps, without schedules: before step i of n its learning rate becomes
/// low (high / low)^(i / (n - 1)). The same seed gives the same bits. UserError: the optimizer has no learning rate,
/// the experiment has phases, low is not below high, and as training.
LrRange test_lr_range(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                      const LrRangeOptions& options = {});

/// Means of the losses around each one, weighted by exp(-(i - j)^2 / (2 w^2)) over the steps that are there: without
/// the delay of a running mean. w: a fiftieth of `steps`, at least 1.
std::vector<double> smoothed_losses(const std::vector<double>& losses, int64_t steps);
/// LrRange::steepest and LrRange::lowest, from the smoothed losses.
void find_steepest(LrRange& range);

}  // namespace thtrain
