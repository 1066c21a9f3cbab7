// What a checkpoint holds of a run, and the way back.
#include <algorithm>
#include <filesystem>

#include "compiler/base/escape.h"
#include "compiler/ir/bad_values.h"
#include "datasets/npz.h"
#include "nn/objectives/contrastive_divergence.h"
#include "trainers/check_checkpoint.h"
#include "trainers/config_edits.h"
#include "trainers/data_state.h"
#include "trainers/run.h"

namespace thtrain {

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

// Persistent chains stay persistent, and are as many as a minibatch has examples.
static void check_chains(const Checkpoint& checkpoint, const NamedState& kept, const Experiment& experiment,
                         const std::string& path) {
  const char* hint = "a new run with model.weights begins with the weights of this one, and with new chains";
  auto has_chains = [](const auto& arrays) {
    return std::any_of(arrays.begin(), arrays.end(), [](const auto& entry) { return entry.first == "chains"; });
  };
  const auto* divergence = experiment.loss.objective.get_if<ContrastiveDivergence::Options>();
  const bool persisted = has_chains(checkpoint.optimizer);
  if (divergence && persisted != has_chains(kept))
    throw UserError(
        Message{.what = str(path, ": the chains of the run ", persisted ? "persist" : "begin at the examples",
                            "; loss.persistent cannot change"),
                .expected = str("loss.persistent = ", persisted ? "true" : "false"),
                .got = persisted ? "false" : "true",
                .config = divergence->at("persistent"),
                .hint = hint});
  for (const auto& [name, variable] : kept) {
    const Shape wanted = variable.type().known_shape();
    for (const auto& [given, array] : checkpoint.optimizer)
      if (name == "chains" && given == name && array.rank() == 2 && array.dim(1) == wanted.at(1) &&
          array.dim(0) != wanted[0])
        throw UserError(Message{.what = str(path, ": the persistent chains of the run are of ", array.dim(0),
                                            " examples; trainer.batch_size cannot change"),
                                .expected = str("trainer.batch_size = ", array.dim(0)),
                                .got = std::to_string(experiment.trainer.batch_size),
                                .config = experiment.trainer.at("batch_size"),
                                .hint = hint});
  }
}

NamedArrays Run::weight_arrays() const {
  NamedArrays out;
  for (const auto& [name, variable] : program_.weights()) out.emplace_back(name, variable.get_value(true));
  return out;
}
NamedArrays Run::step_arrays() const {
  NamedArrays out;
  for (const auto& [name, variable] : program_.step_state()) out.emplace_back(name, variable.get_value(true));
  return out;
}
// Beside the weights: all that decides later steps.
NamedState Run::kept_state() const {
  NamedState out = program_.step_state();
  for (const auto& entry : program_.schedules().state()) out.push_back(entry);
  return out;
}

Checkpoint Run::checkpoint() const {
  NamedArrays kept;
  for (const auto& [name, variable] : kept_state()) kept.emplace_back(name, variable.get_value(true));
  Checkpoint out{weight_arrays(), kept, best_, state_, fingerprint_, config_, program_.metric_names()};
  out.state.monitor = monitor_.state();
  if (!phase_.empty()) out.phase = static_cast<int64_t>(start_.before.size());
  out.before = start_.before;
  return out;
}

void Run::note_native_start() {
  waits_for_native_ = false;
  summary_.native_from_step = state_.step;
  *find_entry(fingerprint_, kNativeEntry) += str(", from step ", state_.step, " on");
  folder_.write_facts(experiment_.seed, fingerprint_);
  if (hooks_.on_message)
    hooks_.on_message(str("native code from step ", state_.step, " on: the bits of this run are its own"));
}

void Run::restore_arrays(const Checkpoint& checkpoint) {
  auto text = [](const MetricName& metric) { return str(metric.name, ' ', metric.unit); };
  const std::string then = join(checkpoint.metrics, ", ", text), now = join(program_.metric_names(), ", ", text);
  if (then != now)
    throw UserError(Message{.what = str(folder_.checkpoint(), ": the run was measured by other metrics so far"),
                            .expected = then,
                            .got = now,
                            .hint = "trainer.metrics and trainer.monitor stay as they are in a run"});
  std::map<std::string, Tensor> weights(checkpoint.weights.begin(), checkpoint.weights.end());
  take_standardization(weights, folder_.checkpoint());  // the data's own, which the fingerprint holds
  program_.model().load(weights, folder_.checkpoint());
  check_chains(checkpoint, kept_state(), experiment_, folder_.checkpoint());
  check_checkpoint(folder_.checkpoint(), checkpoint, weight_arrays(), program_.model().state(), kept_state());
  std::map<std::string, Tensor> kept(checkpoint.optimizer.begin(), checkpoint.optimizer.end());
  for (const auto& [name, variable] : kept_state()) {
    auto found = kept.find(name);
    if (found == kept.end() || found->second.shape() != variable.type().known_shape())
      throw UserError(Message{.what = str(folder_.checkpoint(), ": the optimizer's state does not fit the experiment"),
                              .expected = str(name, " ", variable.type().text()),
                              .got = found == kept.end() ? "nothing of that name" : found->second.type_text(),
                              .hint = str("another optimizer begins anew: `thtrain train ", folder_.config(),
                                          " model.weights=", folder_.best(),
                                          " trainer.optimizer=", experiment_.trainer.optimizer.name(), '`')});
    variable.set_value(found->second.cast(variable.type().dtype));
  }
  state_ = checkpoint.state;
  state_.report.epoch = state_.epochs + 1;
  state_.report.others.resize(program_.metric_names().size() - 1);
  next_random_ = state_.random;
  monitor_.restore(checkpoint.state.monitor);
  best_ = best_of(checkpoint, weight_arrays());
  best_is_written_ = false;
}

static std::string products_hint(const std::vector<std::string>& differing) {
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
std::vector<std::string> Run::differences_from(const Checkpoint& checkpoint) const {
  auto known = [](const Fingerprint& of, const Fingerprint& in) {
    Fingerprint out;
    for (const auto& entry : of) {
      const bool is_there = std::any_of(in.begin(), in.end(), [&](const auto& e) { return e.first == entry.first; });
      if (is_there || entry.first.find(kOfPhase) == std::string::npos) out.push_back(entry);
    }
    return out;
  };
  std::vector<std::string> out =
      differences(known(checkpoint.fingerprint, fingerprint_), known(fingerprint_, checkpoint.fingerprint));
  for (std::string& difference : out)
    for (const auto& [name, files] : start_.files)
      if (difference.starts_with(name + ": ")) difference += str(" (", files, ')');
  return out;
}

void Run::restore(const Checkpoint& checkpoint) {
  check_has_phases(checkpoint, !phase_.empty(), folder_);
  // What ran before the checkpoint is a fact of the run, whatever runs now.
  for (const auto& [name, value] : checkpoint.fingerprint)
    if (name == kNativeEntry) {
      if (std::string* now = find_entry(fingerprint_, kNativeEntry))
        *now = value;
      else
        fingerprint_.emplace_back(name, value);
    }
  // Before what differs is compared: another model differs in its choices too, and cannot go on at all.
  try {
    restore_arrays(checkpoint);
  } catch (const UserError& error) {
    throw caused_by_edits(error, config_edits(checkpoint.config, config_));
  }
  std::vector<std::string> differing = differences_from(checkpoint);
  if (!differing.empty() && !options_.allow_different_bits)
    throw UserError(Message{.what = str(folder_.path(), ": the run would go on with other bits than it would have had"),
                            .expected = "what the run began with",
                            .got = join(differing, "\n"),
                            .hint = str(products_hint(differing), "--allow-different-bits goes on all the same")});
  take_limits(checkpoint);
  was_resumed_ = has_begun_ = true;
  saved_step_ = state_.step;
  start_.last = {start_.before.size(), phase_, state_.step};
  if (const int64_t missing = rewrite_metrics(folder_.metrics(), histories()); missing > 0 && hooks_.on_message)
    hooks_.on_message(str("warning: ", printable(folder_.metrics()), " has lost the lines of ", missing,
                          missing == 1 ? " epoch" : " epochs", " that the checkpoint does not hold any more"));
  note_changes(checkpoint, differing);
}

// They are told now, and stay in run.json.
void Run::note_changes(const Checkpoint& checkpoint, const std::vector<std::string>& differing) {
  std::vector<std::string> edits = config_edits(checkpoint.config, config_);
  for (const std::vector<std::string>& changes : {edits, differing})
    for (const std::string& change : changes)
      folder_.add_change(str(phase_.empty() ? "" : str("phase ", phase_, ", "), "step ", state_.step, ": ", change));
  if (!hooks_.on_message) return;
  if (!edits.empty()) hooks_.on_message(str("edited since the checkpoint: ", join(edits, "; ")));
  if (!differing.empty()) hooks_.on_message(str("other bits than before: ", join(differing, "; ")));
  if (state_.batch >= program_.batches() + state_.is_unmeasured)
    hooks_.on_message(str("the checkpoint has ", state_.batch, " minibatches of epoch ", state_.epochs + 1,
                          ", and an epoch has ", program_.batches(), " now: this one is over"));
}

// ---- when --------------------------------------------------------------------------------------------------------

// Never writes a value that is not finite, nor one that was computed from a file that changed: the last good checkpoint
// stays.
void Run::save() {
  program_.check_files();
  for (const NamedArrays& arrays : {weight_arrays(), step_arrays()})
    for (const auto& [name, value] : arrays)
      if (first_non_finite(value)) fail_non_finite();
  if (!best_is_written_ && !best_.empty()) write_npz(best_path(), best_);
  best_is_written_ = true;
  const KeptCheckpoint now{start_.before.size(), phase_, state_.step};
  if (start_.last && *start_.last != now)
    set_aside_checkpoint(folder_, *start_.last, experiment_.trainer.keep_checkpoints);
  write_checkpoint(folder_.checkpoint(), checkpoint());
  remove_kept_checkpoints(folder_, now, experiment_.trainer.keep_checkpoints);
  start_.last = now;
  saved_step_ = state_.step;
  saved_ = Clock::now();
  observed_.clear();
}

void Run::save_if_due(bool epoch_finished) {
  const TrainerConfig& c = experiment_.trainer;
  bool by_epochs = epoch_finished && c.checkpoint_epochs > 0 && state_.epochs % c.checkpoint_epochs == 0;
  bool by_time = c.checkpoint_seconds > 0 && seconds_between(saved_, Clock::now()) >= c.checkpoint_seconds;
  if (!by_epochs && !by_time) return;
  if (!epoch_finished) {  // the epoch's time so far
    Clock::time_point now = Clock::now();
    state_.report.seconds += seconds_between(epoch_began_, now);
    epoch_began_ = now;
  }
  save();
}

}  // namespace thtrain
