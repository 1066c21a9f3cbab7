// What ends a run, edited since its checkpoint: epochs, patience, time and tolerances.
#include <algorithm>
#include <array>
#include <charconv>

#include "trainers/config_edits.h"
#include "trainers/run.h"

namespace thtrain {

static double number_of(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string Run::value_then(const Checkpoint& checkpoint, const std::string& key) const {
  const std::string phase = phase_.empty() ? "" : str("phase.", start_.before.size(), '.');
  return config_value(checkpoint.config, phase + key).value_or("");
}

// Of what training goes by in this phase.
std::vector<std::string> Run::own_edits(const Checkpoint& checkpoint) const {
  constexpr std::array<const char*, 4> kOthers = {"keep_checkpoints", "checkpoint_seconds", "checkpoint_epochs",
                                                  "test_at"};
  const std::string phase = phase_.empty() ? "" : str("phase.", start_.before.size(), '.');
  std::vector<std::string> out = config_edits(checkpoint.config, config_);
  std::erase_if(out, [&](const std::string& edit) {
    if (!edit.starts_with(phase + "trainer.") && !edit.starts_with(phase + "loss.")) return true;
    return std::any_of(kOthers.begin(), kOthers.end(),
                       [&](const char* key) { return edit.starts_with(str(phase, "trainer.", key, ':')); });
  });
  return out;
}

void Run::take_patience(const Checkpoint& checkpoint) {
  const std::string patience = value_then(checkpoint, "trainer.patience"),
                    increase = value_then(checkpoint, "trainer.patience_increase");
  if (!patience.empty() && !increase.empty()) monitor_.edit_patience(number_of(patience), number_of(increase));
}

// The epoch that was ended goes on.
void Run::go_on_after_stop() {
  const bool ends = state_.out_of_time ? is_time_spent(0) : monitor_.ends_after(state_.step - 1);
  if (!state_.stopped_early || ends) return;
  state_.stopped_early = state_.out_of_time = false;
  if (state_.reported() > state_.epochs) state_.history.pop_back();
}

// A line for each thing that keeps the run from going on.
std::vector<std::string> Run::what_would_extend() const {
  std::vector<std::string> out;
  if (state_.stopped_early && !state_.out_of_time)
    out.push_back(str("trainer.patience at least ", state_.step, " (minibatches), or 0: the run stopped early"));
  if (is_time_spent(0))
    out.push_back(str("trainer.max_seconds above ", training_seconds({}, state_), ", or 0: so many are spent"));
  if (state_.epochs >= experiment_.trainer.epochs)
    out.push_back(str("trainer.epochs above ", state_.epochs, ": so many are done"));
  if (!has_converged()) return out;
  const BatchMethod& method = *program_.method();
  if (method.status() == BatchStatus::kGradient)
    out.push_back(
        str("trainer.gradient_tolerance below ", method.largest_gradient(), ": the largest element of the gradient"));
  if (method.status() == BatchStatus::kValue)
    out.push_back(str("trainer.value_tolerance below ", method.relative_change(), ": the last iteration's change"));
  if (method.status() == BatchStatus::kLineSearch) out.push_back(str("another run: ", text_of(method.status())));
  return out;
}

void Run::take_limits(const Checkpoint& checkpoint) {
  const std::vector<std::string> edits = own_edits(checkpoint);
  const std::string epochs = value_then(checkpoint, "trainer.epochs");
  const bool was_over = state_.stopped_early || has_converged() ||
                        (!epochs.empty() && static_cast<double>(state_.epochs) >= number_of(epochs));
  take_patience(checkpoint);
  if (BatchMethod* method = program_.method()) method->take_tolerances();
  go_on_after_stop();
  if (edits.empty()) return;
  if (state_.epochs > experiment_.trainer.epochs)
    throw UserError(Message{.what = str(folder_.path(), ": the run has done more epochs than it is to have"),
                            .expected = str("trainer.epochs at least ", state_.epochs),
                            .got = join(edits, "\n")});
  if (!was_over || !(is_over() || is_time_spent(0))) return;
  throw UserError(Message{.what = str(folder_.path(), ": the run is over, and what was edited leaves it so"),
                          .expected = join(what_would_extend(), "\n"),
                          .got = join(edits, "\n")});
}

}  // namespace thtrain
