#include "trainers/run/limits.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "trainers/config_edits.h"

namespace thtrain {

static double number_of(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// "phase.1." before the keys of a phase.
static std::string key_prefix(const Training& training) {
  return training.phase.empty() ? "" : str("phase.", training.phase_number(), '.');
}

static std::string value_then(const Training& training, const Checkpoint& checkpoint, const std::string& key) {
  return config_value(checkpoint.config, key_prefix(training) + key).value_or("");
}

// Of what training goes by in this phase.
static std::vector<std::string> own_edits(const Training& training, const std::string& config,
                                          const Checkpoint& checkpoint) {
  constexpr std::array<const char*, 4> kOthers = {"keep_checkpoints", "checkpoint_seconds", "checkpoint_epochs",
                                                  "test_at"};
  const std::string prefix = key_prefix(training);
  std::vector<std::string> out = config_edits(checkpoint.config, config);
  std::erase_if(out, [&](const std::string& edit) {
    if (!edit.starts_with(prefix + "trainer.") && !edit.starts_with(prefix + "loss.")) return true;
    return std::any_of(kOthers.begin(), kOthers.end(),
                       [&](const char* key) { return edit.starts_with(str(prefix, "trainer.", key, ':')); });
  });
  return out;
}

static void take_patience(Training& training, const Checkpoint& checkpoint) {
  const std::string patience = value_then(training, checkpoint, "trainer.patience"),
                    increase = value_then(training, checkpoint, "trainer.patience_increase");
  if (!patience.empty() && !increase.empty()) training.monitor.edit_patience(number_of(patience), number_of(increase));
}

// The epoch that was ended goes on.
static void go_on_after_stop(Training& training) {
  RunState& state = training.state;
  const bool ends = state.out_of_time ? training.is_time_spent() : training.monitor.ends_after(state.step - 1);
  if (!state.stopped_early || ends) return;
  state.stopped_early = state.out_of_time = false;
  if (state.batch < training.program.batches()) state.unmeasured = Unmeasured::kNothing;
  if (state.reported() > state.epochs) state.history.pop_back();
}

// A line for each thing that keeps the run from going on.
static std::vector<std::string> what_would_extend(const Training& training) {
  const RunState& state = training.state;
  std::vector<std::string> out;
  if (state.stopped_early && !state.out_of_time)
    out.push_back(str("trainer.patience at least ", state.step, " (minibatches), or 0: the run stopped early"));
  if (training.is_time_spent())
    out.push_back(str("trainer.max_seconds above ", training_seconds({}, state), ", or 0: so many are spent"));
  if (state.epochs >= training.experiment.trainer.epochs)
    out.push_back(str("trainer.epochs above ", state.epochs, ": so many are done"));
  if (!training.has_converged()) return out;
  const BatchMethod& method = *training.program.method();
  if (method.status() == BatchStatus::kGradient)
    out.push_back(
        str("trainer.gradient_tolerance below ", method.largest_gradient(), ": the largest element of the gradient"));
  if (method.status() == BatchStatus::kValue)
    out.push_back(str("trainer.value_tolerance below ", method.relative_change(), ": the last iteration's change"));
  if (method.status() == BatchStatus::kLineSearch) out.push_back(str("another run: ", text_of(method.status())));
  return out;
}

void take_limits(Training& training, const RunContext& context, const Checkpoint& checkpoint) {
  const RunState& state = training.state;
  const std::string& path = context.folder.path();
  const std::vector<std::string> edits = own_edits(training, context.config, checkpoint);
  const std::string epochs = value_then(training, checkpoint, "trainer.epochs");
  const bool was_over = state.stopped_early || training.has_converged() ||
                        (!epochs.empty() && static_cast<double>(state.epochs) >= number_of(epochs));
  take_patience(training, checkpoint);
  if (BatchMethod* method = training.program.method()) method->take_tolerances();
  go_on_after_stop(training);
  if (edits.empty()) return;
  if (state.epochs > training.experiment.trainer.epochs)
    throw UserError(Message{.what = str(path, ": the run has done more epochs than it is to have"),
                            .expected = str("trainer.epochs at least ", state.epochs),
                            .got = join(edits, "\n")});
  if (!was_over || !(training.is_over() || training.is_time_spent())) return;
  throw UserError(Message{.what = str(path, ": the run is over, and what was edited leaves it so"),
                          .expected = join(what_would_extend(training), "\n"),
                          .got = join(edits, "\n")});
}

}  // namespace thtrain
