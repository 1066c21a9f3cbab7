// `thtrain tune`: which implementations are the fastest on this machine, of what has several in an experiment.
#include <algorithm>
#include <cmath>

#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/runtime/cache.h"
#include "compiler/runtime/candidate_trials.h"
#include "compiler/runtime/machine.h"
#include "compiler/runtime/threads.h"
#include "compiler/runtime/tuner.h"
#include "trainers/load_data.h"
#include "trainers/program.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

struct Tuned {
  kernel::ChoiceKey key;
  std::vector<CandidateTrial> trials;  // the fastest first
};

double gflops(const CandidateTrial& trial) {
  return 1e-9 * trial.flops / trial.seconds;
}

// Four digits without an exponent: "0.00003502".
std::string time_text(double seconds) {
  const int before = static_cast<int>(std::floor(std::log10(seconds)));
  return json_fixed(seconds, std::max(0, 3 - before));
}

std::string head_text(const kernel::ChoiceKey& key, size_t choices) {
  return str(key.text(), " (", count_text(static_cast<int64_t>(choices), "choice"), "):\n");
}

// A line for each candidate, the fastest first.
std::string trials_text(const Tuned& tuned, const std::vector<std::string>& absent) {
  std::string out;
  for (const CandidateTrial& trial : tuned.trials)
    out += str("* ", trial.candidate, ": ", time_text(trial.seconds), " sec",
               trial.flops > 0 ? str(", ", json_fixed(gflops(trial), 1), " GFLOP/s") : std::string(), "\n");
  for (const std::string& name : absent) out += str("* ", name, ": not installed\n");
  return str(out, "= ", tuned.trials.empty() ? "none: no program ran" : tuned.trials.front().candidate, "\n\n");
}

// Candidates whose libraries are not here.
std::vector<std::string> absent_candidates(const kernel::ChoiceKey& key, const CandidateLists& lists) {
  std::vector<std::string> out;
  for (const Candidate& candidate : listed_candidates(lists, key, machine()))
    if (!version_of(candidate)) out.push_back(candidate.name);
  return out;
}

// Not terminated: what other programs took.
std::string busy_text(const std::vector<Tuned>& all) {
  double load = 0;
  for (const Tuned& tuned : all)
    for (const CandidateTrial& trial : tuned.trials) load = std::max(load, trial.load);
  if (load == 0) return "";
  return str(
      "the machine was busy: ", json_fixed(load, 1),
      " programs wanted each core; with compiler.tune = \"always\", a run that finds it less busy times again\n");
}

std::string tuned_json(const Tuned& tuned) {
  auto trial_json = [&](const CandidateTrial& trial) {
    return JsonObject()
        .add("candidate", trial.candidate)
        .add("version", trial.version)
        .add("gflops", gflops(trial))
        .add("seconds", trial.seconds)
        .line();
  };
  return JsonObject()
      .add("computation", tuned.key.computation)
      .add("properties", tuned.key.properties)
      .add("choice", tuned.trials.empty() ? "" : tuned.trials.front().candidate)
      .add_raw("trials", str('[', join(tuned.trials, ", ", trial_json), ']'))
      .line();
}

// Each once.
std::vector<kernel::ChoiceKey> choices_of_phases(const LoadedExperiment& loaded) {
  std::vector<kernel::ChoiceKey> out;
  for (size_t i = 0; i < phase_count(loaded.experiment); ++i) {
    const Experiment& phase = phase_of(loaded.experiment, i);
    Dataset data = load_data(phase, loaded.config_folder);
    for (const kernel::ChoiceKey& key : choices_of(phase, data, loaded.config_folder))
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
  }
  return out;
}

}  // namespace

int run_tune(const TuneArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  int threads = thread_count(static_cast<int>(loaded.experiment.compiler.threads));
  std::vector<Tuned> tuned;
  TuningTable table;
  const CompilerConfig& compiler = loaded.experiment.compiler;
  const double tolerance = compiler.optimizer == CompilerConfig::Optimizer::kStrict ? 0 : compiler.conv_tolerance;
  const CandidateLists lists = candidate_lists(compiler);
  const std::vector<kernel::ChoiceKey> keys = choices_of_phases(loaded);
  check_lists(lists, keys, machine());
  for (const kernel::ChoiceKey& key : keys) {
    const std::vector<Candidate> usable = usable_candidates(key, tolerance, lists);
    const std::vector<std::string> absent = absent_candidates(key, lists);
    if (!arguments.json) print_text(head_text(key, usable.size() + absent.size()));
    std::vector<CandidateTrial> trials = time_candidates(key, usable, threads);
    std::stable_sort(trials.begin(), trials.end(),
                     [](const CandidateTrial& a, const CandidateTrial& b) { return a.seconds < b.seconds; });
    table.merge(tuning_of(key, trials));
    tuned.push_back({key, std::move(trials)});
    if (!arguments.json) print_text(trials_text(tuned.back(), absent));
  }
  if (!tuned.empty()) remember(table, threads);
  measure_machine_again();
  if (arguments.json) {
    print_text(
        JsonObject().add("threads", threads).add_raw("choices", str('[', join(tuned, ", ", tuned_json), ']')).line() +
        "\n");
    return kDone;
  }
  const bool is_reference = loaded.experiment.compiler.mode == CompilerConfig::Mode::kReference;
  const char* nothing = is_reference ? ": compiler.mode = \"reference\" computes without native code\n" : "\n";
  print_text(str(busy_text(tuned), count_text(static_cast<int64_t>(tuned.size()), "choice"), " for ",
                 count_text(threads, "thread"),
                 tuned.empty() ? nothing : str(", remembered in ", cache_folder_text(), "\n")));
  return kDone;
}

}  // namespace thtrain
