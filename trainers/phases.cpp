#include "trainers/phases.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "compiler/tuning/machine.h"
#include "datasets/npz.h"
#include "trainers/build_model.h"
#include "trainers/config_edits.h"
#include "trainers/image_data.h"
#include "trainers/run/restore.h"
#include "trainers/run/run.h"
#include "trainers/run/wrap_up.h"
#include "trainers/table_facts.h"

namespace thtrain {

// ---- data and checks -----------------------------------------------------------------------------------------------

std::string PhaseData::key_of(size_t phase) const {
  OneOf<DataConfig> data = phase_of(experiment_, phase).data;
  std::string out = str(data.name(), '\n', toml_text(resolved_config(data.kind_of().schema(), data.object())));
  if (const std::optional<ImageCrop> crop = crop_of(phase_of(experiment_, phase)))
    out += str("crop ", crop->height, ' ', crop->width, ' ', crop->padding, ' ', static_cast<int>(crop->border));
  return out;
}

const Dataset& PhaseData::load(size_t phase) {
  const std::string key = key_of(phase);
  auto found = loaded_.find(key);
  if (found == loaded_.end()) found = loaded_.emplace(key, load_(phase_of(experiment_, phase))).first;
  return found->second;
}

const Dataset& PhaseData::of(size_t phase) {
  std::erase_if(loaded_, [&](const auto& entry) {
    for (size_t i = phase; i < phase_count(experiment_); ++i)
      if (key_of(i) == entry.first) return false;
    return true;
  });
  return load(phase);
}

static void check_pass_on(const Experiment& experiment, const Dataset& data) {
  const PhaseConfig& phase = experiment.phase.back();
  if (phase.pass_on == PhaseConfig::PassOn::kLast || data.valid.size() > 0) return;
  throw UserError(Message{.what = str("phase ", phase.name, ": pass_on = \"best\" needs validation examples"),
                          .got = "none in the data",
                          .config = phase.at("pass_on"),
                          .hint = "pass_on = \"last\" passes the last weights on"});
}

const PhaseData::Facts* PhaseData::facts(size_t phase) const {
  auto found = facts_.find(phase);
  return found == facts_.end() ? nullptr : &found->second;
}

static std::array<std::pair<std::string, const Split*>, 3> splits_of(const Dataset& data) {
  return {{{"training data", &data.train}, {"validation data", &data.valid}, {"test data", &data.test}}};
}

static Fingerprint lengths_of(const Dataset& data) {
  Fingerprint out;
  for (const auto& [name, split] : splits_of(data))
    out.emplace_back(
        name, split->size() == 0 ? "0 examples" : str(split->size(), " examples ", shape_text(split->input_shape())));
  return out;
}

static std::map<std::string, std::string> files_of(const Dataset& data) {
  std::map<std::string, std::string> out;
  for (const auto& [name, split] : splits_of(data)) {
    if (split->size() == 0) continue;
    const std::string &x = split->x_array().origin, &y = split->y_array().origin;
    out[name] = y.empty() || x == y ? x : str(x, ", ", y);
    if (split->has_weights() && split->weights_array().origin != x) out[name] += ", " + split->weights_array().origin;
    if (split->has_lengths() && split->lengths_array().origin != x) out[name] += ", " + split->lengths_array().origin;
  }
  return out;
}

// The first of them that is another than it was, and is no error of the experiment.
static std::optional<Message> changed_data(const std::string& phase, const Dataset& data, const Fingerprint& then,
                                           const Fingerprint& now) {
  std::map<std::string, std::string> current(now.begin(), now.end()), files = files_of(data);
  for (const auto& [name, value] : then) {
    if (current.at(name) == value) continue;
    return Message{.what = str("phase ", phase, ": ", files.contains(name) ? files[name] : name,
                               ": the data is not what it was when the run was begun or resumed"),
                   .expected = str(name, ": ", value),
                   .got = str(name, ": ", current.at(name)),
                   .config = data.train.x_array().where,
                   .hint = "put the data back as it was"};
  }
  return {};
}

// Says which phase it is of, where the run has phases.
static UserError of_phase(const UserError& error, const std::string& name) {
  if (name.empty()) return error;
  std::vector<Message> messages = error.messages();
  const std::string begin = str("phase ", name, ": ");
  for (Message& message : messages)
    if (!message.what.starts_with(begin)) message.what = begin + message.what;
  return UserError(std::move(messages));
}

void PhaseData::check(size_t first, const std::string& config_folder) {
  Handed before;
  for (size_t i = first; i < phase_count(experiment_); ++i) {
    const Experiment& phase = phase_of(experiment_, i);
    Experiment reference = phase;
    reference.compiler.mode = CompilerConfig::Mode::kReference;
    try {
      const Dataset& data = load(i);
      if (i + 1 < phase_count(experiment_)) check_pass_on(phase, data);
      TrainingProgram program(reference, data, config_folder);
      facts_[i] = {program.data_fingerprint(), lengths_of(data), files_of(data)};
      if (i > first) check_handed(program.model(), before, phase);
      before = handed_by(program.model());
    } catch (const UserError& error) {
      throw of_phase(error, phase_name(phase));
    }
    if (key_of(i) != key_of(first)) loaded_.erase(key_of(i));
  }
}

// ---- the phases ----------------------------------------------------------------------------------------------------

namespace {

class Phases {
 public:
  Phases(PhaseData& data, RunFolder& folder, const TrainHooks& hooks, const TrainOptions& options)
      : data_(data), whole_(data.experiment()), folder_(folder), hooks_(hooks), options_(options) {}

  TrainSummary go(size_t first, const std::optional<Checkpoint>& checkpoint) {
    PhaseStart start;
    if (checkpoint) start.before = checkpoint->before;
    warn_of_lost_weights(start.before);
    for (size_t i = first;; ++i) {
      const bool goes_on = i == first && checkpoint.has_value(), is_last = i + 1 == phase_count(whole_);
      const std::vector<PhaseHistory> before = start.before;
      std::optional<Run> run;
      try {
        begin(i, goes_on, std::move(start), run);
        if (goes_on) run->restore(*checkpoint);
      } catch (const UserError& error) {
        if (i == first) throw;
        throw with_hint(error);
      }
      add(run->go());
      if (is_last) warn_of_lost_weights(before);
      if (is_last) keep_table_facts(folder_, data_.of(i), options_);
      if (is_last) add_confusion(summary_, phase_of(whole_, i), data_.of(i), folder_, options_);
      if (is_last || summary_.interrupted) return summary_;
      const bool is_alone = !options_.ranks || options_.ranks->size() == 1;
      if (is_alone && options_.stop && options_.stop->load(std::memory_order_relaxed) != 0) {
        summary_.interrupted = true;
        return summary_;
      }
      if (hooks_.on_phase_end) hooks_.on_phase_end(summary_);
      start = run->next_phase();
    }
  }

 private:
  void begin(size_t i, bool goes_on, PhaseStart start, std::optional<Run>& run) {
    const Experiment& phase = phase_of(whole_, i);
    if (hooks_.on_phase)
      hooks_.on_phase({.index = i, .count = phase_count(whole_), .goes_on = goes_on, .experiment = phase});
    const Dataset& data = data_.of(i);
    const bool is_last = i + 1 == phase_count(whole_);
    if (is_last) keep_table_facts(folder_, data, options_);
    const PhaseData::Facts* facts = data_.facts(i);
    // Before weights are handed on: those of other examples have other shapes.
    if (facts)
      if (auto changed = changed_data(phase_name(phase), data, facts->lengths, lengths_of(data)))
        throw UserError(std::move(*changed));
    add_later(i, start);
    run.emplace(phase, data, folder_, hooks_, options_, whole_, std::move(start));
    if (facts)
      if (auto changed = changed_data(phase_name(phase), data, facts->data, run->fingerprint())) {
        if (!options_.allow_different_bits) throw UserError(std::move(*changed));
        if (hooks_.on_message) hooks_.on_message(str(changed->what, "; ", changed->got));
      }
  }

  // Files that finished phases left; nothing writes them again. Each is named once.
  void warn_of_lost_weights(const std::vector<PhaseHistory>& phases) {
    for (const PhaseHistory& phase : phases) {
      const bool has_best = phase.earlier.has_best || std::any_of(phase.epochs.begin(), phase.epochs.end(),
                                                                  [](const EpochReport& epoch) { return epoch.best; });
      const std::string path = folder_.best_of(phase.phase);
      if (!has_best || phase.phase == phase_name(whole_) || lost_.contains(path)) continue;
      std::string what;
      try {
        if (std::error_code ignored; !std::filesystem::exists(path, ignored))
          what = str(path, ": no such file");
        else
          read_npz(path);
      } catch (const UserError& error) {
        what = error.messages().front().what;
      }
      if (what.empty()) continue;
      lost_.insert(path);
      if (hooks_.on_message)
        hooks_.on_message(str("warning: the best weights of phase ", phase.phase, ", which is over, are lost: ", what));
    }
  }

  // What the run will know of the data of the phases behind it.
  void add_later(size_t i, PhaseStart& start) const {
    for (size_t later = i + 1; later < phase_count(whole_); ++later) {
      const PhaseData::Facts* facts = data_.facts(later);
      if (!facts || data_.are_alike(i, later)) continue;
      const std::string end = str(" of phase ", phase_name(phase_of(whole_, later)));
      for (const auto& [name, value] : facts->data) start.later.emplace_back(name + end, value);
      for (const auto& [name, files] : facts->files) start.files[name + end] = files;
    }
  }

  // The summary is of the last phase, but for the time of the whole run and what was compiled.
  void add(TrainSummary found) {
    found.kernels_compiled += summary_.kernels_compiled;
    if (summary_.steps > 0) found.seconds_to_first_step = summary_.seconds_to_first_step;
    summary_ = std::move(found);
  }

  UserError with_hint(const UserError& error) const {
    std::vector<Message> messages = error.messages();
    std::string& hint = messages.back().hint;
    hint += str(hint.empty() ? "" : ";\n", "the phases before it are kept: `thtrain resume ", folder_.path(),
                "` goes on after them");
    return UserError(std::move(messages));
  }

  PhaseData& data_;
  const Experiment& whole_;
  RunFolder& folder_;
  const TrainHooks& hooks_;
  const TrainOptions& options_;
  TrainSummary summary_;
  std::set<std::string> lost_;
};

}  // namespace

TrainSummary train_phases(PhaseData& data, RunFolder& folder, const TrainHooks& hooks, const TrainOptions& options) {
  checked_experiment(data.experiment());
  if (data.experiment().phases.empty()) return train(data.experiment(), data.of(0), folder, hooks, options);
  RunUnlock after{folder};
  if (writes_folder(options)) {
    folder.lock();
    folder.require_new("train_phases");
  }
  data.check(0, folder.facts().config_folder);
  return with_noted_end(folder, [&] { return Phases(data, folder, hooks, options).go(0, {}); });
}

// Edits of what is over would change nothing.
static void refuse_edits_of_finished(const Checkpoint& checkpoint, const Experiment& experiment,
                                     const RunFolder& folder) {
  for (const std::string& edit : config_edits(checkpoint.config, config_text(experiment, folder)))
    for (int64_t i = 0; i < checkpoint.phase.value_or(0); ++i) {
      if (!edit.starts_with(str("phase.", i, '.'))) continue;
      throw UserError(Message{.what = str(folder.path(), ": phase ", checkpoint.before[static_cast<size_t>(i)].phase,
                                          " is over: its keys change nothing any more"),
                              .got = edit,
                              .hint = str("phase.", *checkpoint.phase, " is the one that the run is in")});
    }
}

static size_t phase_at(const Checkpoint& checkpoint, const Experiment& experiment, const RunFolder& folder) {
  const auto phase = static_cast<size_t>(checkpoint.phase.value_or(0));
  if (phase < phase_count(experiment)) return phase;
  throw UserError(Message{.what = str(folder.checkpoint(), ": the run is in a phase that the experiment has not"),
                          .expected = str("one of ", phase_count(experiment)),
                          .got = str("phase ", phase + 1, ", after ", checkpoint.before.back().phase)});
}

TrainSummary resume_phases(PhaseData& data, RunFolder& folder, const TrainHooks& hooks, const TrainOptions& options) {
  const Experiment& experiment = data.experiment();
  if (experiment.phases.empty()) return resume(experiment, data.of(0), folder, hooks, options);
  RunUnlock after{folder};
  if (writes_folder(options)) folder.lock();
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(experiment, folder, hooks, options);
  size_t first = 0;
  if (checkpoint) {
    first = phase_at(*checkpoint, experiment, folder);
    refuse_edits_of_finished(*checkpoint, experiment, folder);
  }
  use_limits_of(folder.facts().target);
  if (first + 1 < phase_count(experiment)) data.check(first, folder.facts().config_folder);
  return with_noted_end(folder, [&] { return Phases(data, folder, hooks, options).go(first, checkpoint); });
}

}  // namespace thtrain
