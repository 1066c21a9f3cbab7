#include "trainers/phases.h"

#include <algorithm>

#include "compiler/runtime/machine.h"
#include "trainers/build_model.h"
#include "trainers/config_edits.h"
#include "trainers/run.h"
#include "trainers/table_facts.h"

namespace thtrain {

// ---- data and checks -----------------------------------------------------------------------------------------------

std::string PhaseData::key_of(size_t phase) const {
  OneOf<DataConfig> data = phase_of(experiment_, phase).data;
  return str(data.name(), '\n', toml_text(resolved_config(data.kind_of().schema(), data.object())));
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

// The error of a phase that is not the first one says which it is.
static UserError of_phase(const UserError& error, const std::string& name) {
  std::vector<Message> messages = error.messages();
  const std::string begin = str("phase ", name, ": ");
  for (Message& message : messages)
    if (!message.what.starts_with(begin)) message.what = begin + message.what;
  return UserError(std::move(messages));
}

void PhaseData::check(size_t first, const std::string& config_folder) {
  std::map<std::string, Shape> before;
  for (size_t i = first; i < phase_count(experiment_); ++i) {
    const Experiment& phase = phase_of(experiment_, i);
    Experiment reference = phase;
    reference.compiler.mode = CompilerConfig::Mode::kReference;
    try {
      const Dataset& data = load(i);
      if (i + 1 < phase_count(experiment_)) check_pass_on(phase, data);
      TrainingProgram program(reference, data, config_folder);
      if (i > first) check_handed(program.model(), before, phase);
      before = handed_shapes(program.model());
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
    for (size_t i = first;; ++i) {
      const bool goes_on = i == first && checkpoint.has_value(), is_last = i + 1 == phase_count(whole_);
      std::optional<Run> run;
      try {
        begin(i, goes_on, std::move(start), run);
        if (goes_on) run->restore(*checkpoint);
      } catch (const UserError& error) {
        if (i == first) throw;
        throw with_hint(error);
      }
      add(run->go());
      if (is_last || summary_.interrupted) return summary_;
      if (options_.stop && options_.stop->load(std::memory_order_relaxed) != 0) {
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
    if (is_last && (!data.columns.empty() || !data.class_names.empty()))
      write_table_facts(folder_.table(), table_facts(data));
    run.emplace(phase, data, folder_, hooks_, options_, whole_, std::move(start));
  }

  // The summary is of the last phase, but for times and what was compiled.
  void add(TrainSummary found) {
    found.seconds += summary_.seconds;
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
};

}  // namespace

TrainSummary train_phases(PhaseData& data, RunFolder& folder, const TrainHooks& hooks, const TrainOptions& options) {
  if (data.experiment().phases.empty()) return train(data.experiment(), data.of(0), folder, hooks, options);
  RunUnlock after{folder};
  folder.lock();
  TH_CHECK(!folder.has_checkpoint(), "train_phases() in the folder of another run");
  data.check(0, folder.facts().config_folder);
  return Phases(data, folder, hooks, options).go(0, {});
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
  folder.lock();
  const std::optional<Checkpoint> checkpoint = checkpoint_to_resume(experiment, folder, hooks, options);
  size_t first = 0;
  if (checkpoint) {
    first = phase_at(*checkpoint, experiment, folder);
    refuse_edits_of_finished(*checkpoint, experiment, folder);
  }
  use_limits_of(folder.facts().target);
  if (first + 1 < phase_count(experiment)) data.check(first, folder.facts().config_folder);
  return Phases(data, folder, hooks, options).go(first, checkpoint);
}

}  // namespace thtrain
