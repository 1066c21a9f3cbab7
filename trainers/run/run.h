// One phase of a run: the loop over epochs and minibatches.
#pragma once

#include "trainers/run/evaluation.h"
#include "trainers/run/reports.h"

namespace thtrain {

class Run {
 public:
  /// Builds and compiles. The run is before its first minibatch. `whole` is the run's experiment, and `experiment` that
  /// of the phase.
  Run(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
      const TrainOptions& options, const Experiment& whole, PhaseStart start);
  /// Of a run without phases.
  Run(const Experiment& experiment, const Dataset& data, RunFolder& folder, const TrainHooks& hooks,
      const TrainOptions& options)
      : Run(experiment, data, folder, hooks, options, experiment, {}) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// As thtrain::restore() (trainers/run/restore.h).
  void restore(const Checkpoint& checkpoint);
  /// Trains to the end. See train(). An error after on_start says in its hint how to go on from the last checkpoint.
  TrainSummary go();
  const Fingerprint& fingerprint() const { return training_.fingerprint; }
  /// After the end: what the next phase begins with, but for `later` and `files`.
  PhaseStart next_phase();

 private:
  void begin();
  void train();
  void train_epoch();
  void begin_epoch();
  void step();
  void step_in_shards();
  void after_step();
  void finish_epoch();
  void finish();
  void summarize();
  bool unless_stopped(bool is_done);

  RunContext context_;
  int64_t kernels_before_;
  Training training_;
  EpochClock clock_;
  RunCheckpoints checkpoints_;
  RunCompilation compilation_;
  RunEvaluation evaluation_;
  RunReports reports_;
  TrainSummary summary_;
  int64_t evaluations_before_ = 0;  // of a batch method, before this iteration
  bool was_resumed_ = false;
  bool has_begun_ = false;  // there is a checkpoint that stays
  bool interrupted_ = false;
};

}  // namespace thtrain
