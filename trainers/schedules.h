// The schedules of a run: how the numbers of its optimizer go over epochs and steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "trainers/experiment.h"

namespace thtrain {

class Schedules {
 public:
  /// trainer.schedule for the learning rate and trainer.momentum_schedule for the momentum of `optimizer`, which stays
  /// alive; null of a batch method, which has neither. `batches` of an epoch. UserError where a schedule's options
  /// contradict the length of the run.
  Schedules(const TrainerConfig& config, const Optimizer* optimizer, int64_t batches);

  /// Sets the numbers for a minibatch, from what is done before it: `minibatches` in all, in `epochs` and more.
  void apply(int64_t minibatches, int64_t epochs);
  /// The factors of those that go by validation values, as apply() found them last. The others need the counts alone.
  std::vector<double> observed() const;
  /// apply() of a minibatch that was done before, with what observed() gave then.
  void apply_again(int64_t minibatches, int64_t epochs, const std::vector<double>& observed);
  /// What the learning rate is now, as a part of trainer's; 1 where no schedule changes it.
  double learning_rate_factor() const;

  /// Does one of them go by the validation values?
  bool observes() const;
  /// A new validation value.
  void observe(double value, bool larger_is_better);
  /// What a checkpoint keeps: "schedule/plateau/best", "momentum_schedule/plateau/best". Float64 scalars, the best one
  /// NaN before the first value.
  NamedState state() const;

 private:
  struct Entry {
    std::string key, number;  // "schedule", "learning_rate"
    std::shared_ptr<Schedule> schedule;
    double factor = 1;
  };
  void set_factor(Entry& entry, double factor);

  const Optimizer* optimizer_;
  int64_t accumulate_;
  std::vector<Entry> entries_;
};

}  // namespace thtrain
