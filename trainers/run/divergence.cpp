#include "trainers/run/divergence.h"

#include <algorithm>
#include <cmath>

#include "trainers/non_finite.h"

namespace thtrain {

// Of a model that knows nothing, or where that is not known, of the first epoch.
static double loss_scale(const Training& training) {
  const RunState& state = training.state;
  const double first = state.earlier.count > 0 ? state.earlier.first_loss : state.history.front().train_loss;
  return std::abs(training.program.first_loss().value_or(first));
}

std::string growth_warning(const Training& training) {
  const std::vector<EpochReport>& history = training.state.history;
  if (history.size() < 2) return "";
  const double before = history[history.size() - 2].train_loss, now = history.back().train_loss;
  if (!(now - before > 0.1 * loss_scale(training))) return "";
  const std::string grew = str("warning: the training loss grew in epoch ", history.back().epoch, ": ", loss_text(now),
                               " after ", loss_text(before));
  const OneOf<OptimizerOptions>& optimizer = training.experiment.trainer.optimizer;
  if (!optimizer.kind_of().schema().find("learning_rate")) return grew;
  const double rate = optimizer->rate(), last = history.back().learning_rate.value_or(rate);
  const std::string scheduled = last == rate ? "" : str("; its schedule made it ", last, " in the last minibatch");
  return str(grew, "; a smaller trainer.learning_rate (now ", rate, scheduled, ") often helps");
}

bool has_diverged(const Training& training) {
  constexpr double kFar = 10;  // times as large
  const std::vector<OutputLossConfig> outputs = output_losses(training.experiment);
  const bool tells_little = std::any_of(outputs.begin(), outputs.end(), [](const OutputLossConfig& output) {
    return output.objective->trains_machine();
  });
  const std::vector<EpochReport>& history = training.state.history;
  if (history.empty() || tells_little) return false;
  const EpochReport& last = history.back();
  if (last.valid_loss && !std::isfinite(*last.valid_loss)) return true;
  return last.train_loss > kFar * loss_scale(training);
}

std::string divergence_warning(const Training& training) {
  const EpochReport& last = training.state.history.back();
  std::string text =
      str("warning: the run diverged: after epoch ", last.epoch, " the training loss is ", loss_text(last.train_loss));
  if (const std::optional<double> first = training.program.first_loss())
    text += str(" (a model that knows nothing has ", loss_text(*first), ')');
  if (last.valid_loss) text += str(", the validation loss ", loss_text(*last.valid_loss));
  return str(text, "; ", divergence_advice(training.experiment));
}

}  // namespace thtrain
