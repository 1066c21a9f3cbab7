#include "trainers/run/restore.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "compiler/base/escape.h"
#include "trainers/check_checkpoint.h"
#include "trainers/config_edits.h"
#include "trainers/data_state.h"
#include "trainers/load_data.h"
#include "trainers/run/limits.h"

namespace thtrain {

std::string config_text(const Experiment& experiment, const RunFolder& folder) {
  return resolved_toml(with_absolute_paths(experiment, folder.facts().config_folder));
}

void refuse_edits(const Checkpoint& checkpoint, const Experiment& experiment, const RunFolder& folder,
                  const TrainOptions& options) {
  std::vector<std::string> edits = config_edits(checkpoint.config, config_text(experiment, folder));
  if (edits.empty() || options.accept_edits) return;
  throw UserError(Message{.what = str(folder.config(), ": the experiment was edited since the last checkpoint"),
                          .expected = "what the run was trained with so far",
                          .got = join(edits, "\n"),
                          .hint = "--accept-edits goes on with what it says now"});
}

// Where it is damaged, the best weights may be whole.
static Checkpoint checkpoint_of(const RunFolder& folder) {
  try {
    return read_checkpoint(folder.checkpoint());
  } catch (const UserError& error) {
    std::vector<Message> messages = error.messages();
    std::string& hint = messages.back().hint;
    if (!hint.starts_with("copy ") || !std::filesystem::exists(folder.best())) throw;
    hint += str(";\n`thtrain train ", folder.config(), " model.weights=", folder.best(),
                "` begins a new run with the best weights of this one");
    throw UserError(std::move(messages));
  }
}

std::optional<Checkpoint> checkpoint_to_resume(const Experiment& experiment, const RunFolder& folder,
                                               const TrainHooks& hooks, const TrainOptions& options) {
  std::optional<Checkpoint> out;
  folder.require_checkpoint();
  if (folder.has_checkpoint()) out = checkpoint_of(folder);
  if (out)
    refuse_edits(*out, experiment, folder, options);
  else if (hooks.on_message)
    hooks.on_message(str(folder.path(), ": no checkpoint was written yet, the run begins"));
  return out;
}

// ---- arrays and counts ---------------------------------------------------------------------------------------------

static void check_metrics_then(const Checkpoint& checkpoint, const MetricNames& names, const std::string& path) {
  auto text = [](const MetricName& metric) { return str(metric.name, ' ', metric.unit); };
  const std::string then = join(checkpoint.metrics, ", ", text), now = join(names, ", ", text);
  if (then == now) return;
  throw UserError(Message{.what = str(path, ": the run was measured by other metrics so far"),
                          .expected = then,
                          .got = now,
                          .hint = "trainer.metrics and trainer.monitor stay as they are in a run"});
}

static void restore_kept(const Training& training, const RunFolder& folder, const Checkpoint& checkpoint) {
  const std::map<std::string, Tensor> kept(checkpoint.optimizer.begin(), checkpoint.optimizer.end());
  for (const auto& [name, variable] : training.kept_state()) {
    auto found = kept.find(name);
    if (found == kept.end() || found->second.shape() != variable.type().known_shape())
      throw UserError(Message{.what = str(folder.checkpoint(), ": the optimizer's state does not fit the experiment"),
                              .expected = str(name, " ", variable.type().text()),
                              .got = found == kept.end() ? "nothing of that name" : found->second.type_text(),
                              .hint = str("another optimizer begins anew: `thtrain train ", folder.config(),
                                          " model.weights=", folder.best(),
                                          " trainer.optimizer=", training.experiment.trainer.optimizer.name(), '`')});
    variable.set_value(found->second.cast(variable.type().dtype));
  }
}

void restore_arrays(Training& training, const RunFolder& folder, const Checkpoint& checkpoint) {
  const std::string path = folder.checkpoint();
  TrainingProgram& program = training.program;
  check_metrics_then(checkpoint, program.metric_names(), path);
  std::map<std::string, Tensor> weights(checkpoint.weights.begin(), checkpoint.weights.end());
  take_standardization(weights, path);  // the data's own, which the fingerprint holds
  program.model().load(weights, path);
  program.check_objective_state(checkpoint.optimizer, path);
  check_checkpoint(path, checkpoint, training.weight_arrays(), program.model().state(), training.kept_state());
  restore_kept(training, folder, checkpoint);
  RunState& state = training.state;
  state = checkpoint.state;
  state.report.epoch = state.epochs + 1;
  state.report.others.resize(program.metric_names().size() - 1);
  training.next_random = state.random;
  training.monitor.restore(state.monitor);
  training.best = best_of(checkpoint, training.weight_arrays());
  training.best_is_written = false;
}

// ---- what may differ -----------------------------------------------------------------------------------------------

static std::string hint_of(const std::vector<std::string>& differing) {
  for (const std::string& difference : differing)
    if (difference.starts_with("device: "))
      return "the run began on another device, or on the processor: with that compiler.device, on that card, it goes\n"
             "on with the same bits;\n";
  for (const std::string& difference : differing)
    if (difference.starts_with("choices: "))
      return "`thtrain tune`, or another cache folder (THTRAIN_CACHE_DIR), chooses other implementations: with the\n"
             "choices that the run began with, it goes on with the same bits;\n";
  return "";
}

// The arrays of a checkpoint that do not fit the model: of one that was edited.
static UserError caused_by_edits(const UserError& error, const std::vector<std::string>& edits) {
  std::vector<Message> messages = error.messages();
  std::string& hint = messages.back().hint;
  if (!edits.empty())
    hint += str(hint.empty() ? "" : ";\n", "the experiment was edited since the checkpoint: ", join(edits, "; "),
                ";\nweights of another model cannot go on: undo the edit, or train another run");
  return UserError(std::move(messages));
}

static void check_has_phases(const Checkpoint& checkpoint, bool has_phases, const RunFolder& folder) {
  if (checkpoint.phase.has_value() == has_phases) return;
  const char *with = "a run in phases", *without = "a run without phases";
  throw UserError(Message{.what = str(folder.checkpoint(), ": the checkpoint is of ", has_phases ? without : with),
                          .expected = str("that of ", has_phases ? with : without, ", as ", folder.config(), " says"),
                          .hint = "undo the edit, or train another run"});
}

// Data of later phases is compared where both know it: older checkpoints do not, and an edit may have added a phase or
// taken it away.
static std::vector<std::string> differences_from(const Checkpoint& checkpoint, const Training& training) {
  auto known = [](const Fingerprint& of, const Fingerprint& in) {
    Fingerprint out;
    for (const auto& entry : of) {
      const bool is_there = std::any_of(in.begin(), in.end(), [&](const auto& e) { return e.first == entry.first; });
      if (is_there || entry.first.find(kOfPhase) == std::string::npos) out.push_back(entry);
    }
    return out;
  };
  std::vector<std::string> out = differences(known(checkpoint.fingerprint, training.fingerprint),
                                             known(training.fingerprint, checkpoint.fingerprint));
  for (std::string& difference : out)
    for (const auto& [name, files] : training.start.files)
      if (difference.starts_with(name + ": ")) difference += str(" (", files, ')');
  return out;
}

// What ran before the checkpoint is a fact of the run, whatever runs now.
static void keep_native_entry(const Checkpoint& checkpoint, Fingerprint& fingerprint) {
  for (const auto& [name, value] : checkpoint.fingerprint) {
    if (name != kNativeEntry) continue;
    if (std::string* now = find_entry(fingerprint, kNativeEntry))
      *now = value;
    else
      fingerprint.emplace_back(name, value);
  }
}

// They are told now, and stay in run.json.
static void note_changes(const Training& training, const RunContext& context, const std::vector<std::string>& edits,
                         const std::vector<std::string>& differing) {
  const RunState& state = training.state;
  const int64_t batches = training.program.batches();
  const std::string phase = training.phase.empty() ? "" : str("phase ", training.phase, ", ");
  for (const std::vector<std::string>& changes : {edits, differing})
    for (const std::string& change : changes) context.folder.add_change(str(phase, "step ", state.step, ": ", change));
  if (!edits.empty()) context.tell(str("edited since the checkpoint: ", join(edits, "; ")));
  if (!differing.empty()) context.tell(str("other bits than before: ", join(differing, "; ")));
  if (state.batch >= batches + (state.unmeasured != Unmeasured::kNothing))
    context.tell(str("the checkpoint has ", state.batch, " minibatches of epoch ", state.epochs + 1,
                     ", and an epoch has ", batches, " now: this one is over"));
}

void restore(Training& training, const RunContext& context, const Checkpoint& checkpoint) {
  const RunFolder& folder = context.folder;
  check_has_phases(checkpoint, !training.phase.empty(), folder);
  keep_native_entry(checkpoint, training.fingerprint);
  const std::vector<std::string> edits = config_edits(checkpoint.config, context.config);
  // Before what differs is compared: another model differs in its choices too, and cannot go on at all.
  try {
    restore_arrays(training, folder, checkpoint);
  } catch (const UserError& error) {
    throw caused_by_edits(error, edits);
  }
  const std::vector<std::string> differing = differences_from(checkpoint, training);
  if (!differing.empty() && !context.options.allow_different_bits)
    throw UserError(Message{.what = str(folder.path(), ": the run would go on with other bits than it would have had"),
                            .expected = "what the run began with",
                            .got = join(differing, "\n"),
                            .hint = str(hint_of(differing), "--allow-different-bits goes on all the same")});
  take_limits(training, context, checkpoint);
  if (!context.writes()) return;
  if (const int64_t missing = rewrite_metrics(folder.metrics(), training.histories()); missing > 0)
    context.tell(str("warning: ", printable(folder.metrics()), " has lost the lines of ", missing,
                     missing == 1 ? " epoch" : " epochs", " that the checkpoint does not hold any more"));
  note_changes(training, context, edits, differing);
}

}  // namespace thtrain
