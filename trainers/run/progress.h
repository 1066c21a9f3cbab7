// How far a run is within an epoch: TrainHooks::on_batch.
#pragma once

#include "trainers/run/context.h"
#include "trainers/run/epoch_clock.h"
#include "trainers/run/training.h"

namespace thtrain {

/// Tells it at most twenty times a second. Of a batch method, whose chunks are what takes time, after chunks.
class RunProgress {
 public:
  RunProgress(Training& training, const RunContext& context) : training_(training), context_(context) {}

  /// Speeds count from now on.
  void begin();
  void begin_epoch() { reported_steps_ = training_.program.steps_of_first(training_.state.batch); }
  /// Is it told after a step that ends now?
  bool is_due(SteadyTime now) const;
  void after_step(SteadyTime now);

 private:
  BatchProgress until(SteadyTime now);
  void after_chunk(const TrainingProgram::ChunkProgress& progress);

  Training& training_;
  const RunContext& context_;
  SteadyTime reported_;
  int64_t batches_ = 0;         // since then
  int64_t reported_steps_ = 0;  // of sequences that differ in length, in this epoch
};

}  // namespace thtrain
