#include "trainers/lr_range.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "compiler/runtime/bad_value_source.h"
#include "trainers/program.h"

namespace thtrain {

std::vector<double> smoothed_losses(const std::vector<double>& losses, int64_t steps) {
  const double width = std::max(1.0, static_cast<double>(steps) / 50);
  const auto count = std::ssize(losses), reach = static_cast<int64_t>(4 * width);
  std::vector<double> out, weight_at;  // by the distance
  for (int64_t i = 0; i <= reach; ++i) {
    const double distance = static_cast<double>(i) / width;
    weight_at.push_back(std::exp(-distance * distance / 2));
  }
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0, weights = 0;
    for (int64_t j = std::max<int64_t>(0, i - reach); j <= std::min<int64_t>(count - 1, i + reach); ++j) {
      const double weight = weight_at[static_cast<size_t>(std::abs(i - j))];
      sum += weight * losses[static_cast<size_t>(j)];
      weights += weight;
    }
    out.push_back(sum / weights);
  }
  return out;
}

// Central differences; the rates are in a geometric sequence, so that each is over an equal distance.
void find_steepest(LrRange& range) {
  const std::vector<LrRange::Step>& steps = range.steps;
  if (steps.empty()) return;
  auto is_lower = [](const LrRange::Step& a, const LrRange::Step& b) { return a.smoothed < b.smoothed; };
  range.lowest = static_cast<size_t>(std::min_element(steps.begin(), steps.end(), is_lower) - steps.begin());
  double least = 0;
  for (size_t i = 1; i < range.lowest; ++i) {
    const double slope = steps[i + 1].smoothed - steps[i - 1].smoothed;
    if (slope >= least) continue;
    least = slope;
    range.steepest = i;
  }
}

namespace {

void check(const Experiment& experiment, const LrRangeOptions& options) {
  const OneOf<OptimizerOptions>& optimizer = experiment.trainer.optimizer;
  if (optimizer->batch_method())
    throw UserError(Message{.what = "a range test needs an optimizer with a learning rate",
                            .expected = "trainer.optimizer such as \"sgd\" or \"adam\"",
                            .got = str('"', optimizer.name(), "\", which finds the length of its steps by itself")});
  if (!experiment.phase.empty())
    throw UserError(Message{.what = "a range test needs an experiment without [[phase]]",
                            .expected = "one training, with one learning rate",
                            .got = str(experiment.phase.size(), " phases, each with its own")});
  if (!(options.low < options.high))
    throw UserError(Message{.what = "the first learning rate must be below the last one",
                            .got = str(options.low, " and ", options.high)});
}

// The mean loss of the last steps is above twice that of the first ones; of losses below 0, by as much.
bool has_diverged(const std::vector<double>& losses) {
  constexpr std::ptrdiff_t kMean = 5;
  if (std::ssize(losses) <= kMean) return false;
  const double first = std::accumulate(losses.begin(), losses.begin() + kMean, 0.0) / kMean,
               last = std::accumulate(losses.end() - kMean, losses.end(), 0.0) / kMean;
  return last > first + std::abs(first);
}

// The loss of one minibatch, and a step; infinite where the guard against NaN ended it.
double loss_of_step(TrainingProgram& program, int64_t batch) {
  program.set_loss_sum(0);
  try {
    program.step(batch);
  } catch (const BadValueError&) {
    return std::numeric_limits<double>::infinity();
  }
  return program.loss_sum();
}

}  // namespace

LrRange test_lr_range(const Experiment& given, const Dataset& data, const std::string& config_folder,
                      const LrRangeOptions& options) {
  Experiment experiment = checked_experiment(given);
  check(experiment, options);
  experiment.compiler.background = false;  // references and native code differ in their last bits
  TrainingProgram program(experiment, data, config_folder);
  RandomState random = program.model().random();
  const int64_t batches = program.batches(), accumulate = experiment.trainer.accumulate;
  const int64_t last = std::max<int64_t>(1, (options.steps - 1) / accumulate);
  LrRange out;
  std::vector<double> losses;
  for (int64_t i = 0; i < options.steps && !out.diverged_at; ++i) {
    if (i % batches == 0) {
      program.begin_epoch(random, i / batches);
      program.clear_carried_state();
    }
    const double part = static_cast<double>(i / accumulate) / static_cast<double>(last);
    const double rate = options.low * std::pow(options.high / options.low, part);
    program.set_learning_rate(rate);
    const double loss = loss_of_step(program, i % batches);
    out.is_finite = std::isfinite(loss);
    if (out.is_finite) {
      losses.push_back(loss);
      out.steps.push_back({.rate = rate, .loss = loss});
    }
    if (!out.is_finite || has_diverged(losses)) out.diverged_at = rate;
  }
  const std::vector<double> smoothed = smoothed_losses(losses, options.steps);
  for (size_t i = 0; i < smoothed.size(); ++i) out.steps[i].smoothed = smoothed[i];
  find_steepest(out);
  return out;
}

}  // namespace thtrain
