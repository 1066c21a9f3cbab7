// What a run tells while it goes on: how far it is, and that its loss grows.
#include <algorithm>
#include <cmath>

#include "nn/objectives/contrastive_divergence.h"
#include "trainers/non_finite.h"
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

// Of a model that knows nothing, or where that is not known, of the first epoch.
double Run::loss_scale() const {
  const double first = state_.earlier.count > 0 ? state_.earlier.first_loss : state_.history.front().train_loss;
  return std::abs(program_.first_loss().value_or(first));
}

// By more than a tenth of what a model has that knows nothing: what only wavers near its minimum is no news.
void Run::warn_if_growing() {
  if (warned_of_growth_ || !hooks_.on_message || state_.history.size() < 2) return;
  double before = state_.history[state_.history.size() - 2].train_loss, now = state_.history.back().train_loss;
  if (!(now - before > 0.1 * loss_scale())) return;
  warned_of_growth_ = true;
  std::string text = str("warning: the training loss grew in epoch ", state_.history.back().epoch, ": ", loss_text(now),
                         " after ", loss_text(before));
  OneOf<OptimizerOptions> optimizer = experiment_.trainer.optimizer;
  if (optimizer.kind_of().schema().find("learning_rate")) {
    const double rate = optimizer->rate(), last = state_.history.back().learning_rate.value_or(rate);
    text += str("; a smaller trainer.learning_rate (now ", rate,
                last == rate ? "" : str("; its schedule made it ", last, " in the last minibatch"), ") often helps");
  }
  hooks_.on_message(text);
}

bool Run::has_diverged() const {
  constexpr double kFar = 10;  // times as large
  const std::vector<OutputLossConfig> outputs = output_losses(experiment_);
  const bool trains_machine = std::any_of(outputs.begin(), outputs.end(), [](const OutputLossConfig& output) {
    return output.objective.is<ContrastiveDivergence::Options>();
  });
  if (state_.history.empty() || trains_machine) return false;
  const EpochReport& last = state_.history.back();
  if (last.valid_loss && !std::isfinite(*last.valid_loss)) return true;
  return last.train_loss > kFar * loss_scale();
}

void Run::warn_of_divergence() {
  if (!hooks_.on_message) return;
  const EpochReport& last = state_.history.back();
  std::string text =
      str("warning: the run diverged: after epoch ", last.epoch, " the training loss is ", loss_text(last.train_loss));
  if (const std::optional<double> first = program_.first_loss())
    text += str(" (a model that knows nothing has ", loss_text(*first), ')');
  if (last.valid_loss) text += str(", the validation loss ", loss_text(*last.valid_loss));
  hooks_.on_message(str(text, "; ", divergence_advice(experiment_)));
}

}  // namespace thtrain
