// What a run tells while an epoch goes on.
#include "trainers/run.h"

namespace thtrain {

void Run::report_progress(Clock::time_point now) {
  double examples = static_cast<double>(batches_since_report_ * experiment_.trainer.batch_size);
  const int64_t steps = program_.steps_of_first(state_.batch);
  hooks_.on_batch({.epoch = state_.epochs + 1,
                   .batch = state_.batch,
                   .batches = program_.batches(),
                   .train_loss = state_.loss_sum / static_cast<double>(state_.batch),
                   .examples_per_second = examples / seconds_between(reported_, now),
                   .steps = steps,
                   .steps_of_epoch = program_.steps_of_first(program_.batches()),
                   .steps_per_second = static_cast<double>(steps - reported_steps_) / seconds_between(reported_, now)});
  reported_steps_ = steps;
  reported_ = now;
  batches_since_report_ = 0;
}

// Of a batch method, whose chunks are what takes time.
void Run::report_chunks() {
  if (!program_.method() || !hooks_.on_batch) return;
  program_.on_chunk([this](const TrainingProgram::ChunkProgress& progress) {
    ++batches_since_report_;
    Clock::time_point now = Clock::now();
    if (seconds_between(reported_, now) < 0.05) return;
    double examples = static_cast<double>(batches_since_report_ * experiment_.trainer.batch_size);
    hooks_.on_batch({.epoch = state_.epochs + 1,
                     .batch = progress.chunk,
                     .batches = progress.chunks,
                     .train_loss = progress.loss,
                     .examples_per_second = examples / seconds_between(reported_, now)});
    reported_ = now;
    batches_since_report_ = 0;
  });
}

}  // namespace thtrain
