// Early stopping with patience, and what is remembered of the best model: as the Deep Learning Tutorials do it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "trainers/experiment.h"

namespace thtrain {

/// Steps (minibatches) count from 0. After each step s:
///
///   if (s + 1) is a multiple of `frequency`: the validation error e is measured;
///     if e < best:  if e < best * improvement_threshold: patience = max(patience, s * patience_increase);  best = e
///   if patience <= s: training ends
///
/// frequency = min(batches, patience / 2) with the patience that training starts with, unless it is given. Without a
/// patience (0) training does not end early, and the frequency is an epoch.
class Monitor {
 public:
  /// What a checkpoint keeps.
  struct State {
    double patience = 0;                                          // steps
    double best_error = std::numeric_limits<double>::infinity();  // a value of the metric; inf before the first
    int64_t best_epoch = 0;
    bool operator==(const State&) const = default;
  };

  /// `batches` of an epoch. Where larger values are better, e > best counts, and an improvement is one by more than
  /// (1 - improvement_threshold) |best|.
  Monitor(const TrainerConfig& config, int64_t batches, bool larger_is_better = false);

  int64_t frequency() const { return frequency_; }
  bool validates_after(int64_t step) const { return (step + 1) % frequency_ == 0; }
  /// Would it be the best so far?
  bool is_best(double error) const;
  /// The error that was measured after a step; true if it is the best so far.
  bool record(int64_t step, int64_t epoch, double error);
  /// With what training began, where that was edited since: the patience becomes what it would be now, of the step of
  /// the last improvement.
  void edit_patience(double patience_then, double increase_then);
  bool ends_after(int64_t step) const { return has_patience_ && state_.patience <= static_cast<double>(step); }

  bool has_best() const { return state_.best_epoch > 0; }
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  bool has_patience_, larger_is_better_;
  double first_patience_;
  double increase_, threshold_;
  int64_t frequency_;
  State state_;
};

}  // namespace thtrain
