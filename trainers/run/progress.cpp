#include "trainers/run/progress.h"

#include <utility>

namespace thtrain {

void RunProgress::begin() {
  if (training_.program.method() && context_.hooks.on_batch)
    training_.program.on_chunk([this](const TrainingProgram::ChunkProgress& progress) { after_chunk(progress); });
  reported_ = EpochClock::Clock::now();
}

bool RunProgress::is_due(SteadyTime now) const {
  return context_.hooks.on_batch && seconds_between(reported_, now) >= 0.05;
}

// With the speed since the last one.
BatchProgress RunProgress::until(SteadyTime now) {
  const double examples = static_cast<double>(std::exchange(batches_, 0) * training_.experiment.trainer.batch_size);
  const double seconds = seconds_between(std::exchange(reported_, now), now);
  return {.epoch = training_.state.epochs + 1, .examples_per_second = examples / seconds};
}

void RunProgress::after_step(SteadyTime now) {
  if (training_.program.method()) return;
  ++batches_;
  if (!is_due(now)) return;
  const RunState& state = training_.state;
  const double seconds = seconds_between(reported_, now);
  BatchProgress out = until(now);
  out.batch = state.batch;
  out.batches = training_.program.batches();
  out.train_loss = state.loss_sum / static_cast<double>(state.batch);
  out.steps = training_.program.steps_of_first(state.batch);
  out.steps_of_epoch = training_.program.steps_of_first(out.batches);
  out.steps_per_second = static_cast<double>(out.steps - std::exchange(reported_steps_, out.steps)) / seconds;
  context_.hooks.on_batch(out);
}

void RunProgress::after_chunk(const TrainingProgram::ChunkProgress& progress) {
  ++batches_;
  const SteadyTime now = EpochClock::Clock::now();
  if (!is_due(now)) return;
  BatchProgress out = until(now);
  out.batch = progress.chunk;
  out.batches = progress.chunks;
  out.train_loss = progress.loss;
  context_.hooks.on_batch(out);
}

}  // namespace thtrain
