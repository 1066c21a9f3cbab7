// `thtrain tune`: which implementations are the fastest on this machine, of what has several in an experiment.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/runtime/cache.h"
#include "compiler/runtime/candidate_trials.h"
#include "compiler/runtime/machine.h"
#include "compiler/runtime/threads.h"
#include "compiler/runtime/tuner.h"
#include "trainers/load_data.h"
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

std::string tuned_text(const Tuned& tuned) {
  std::vector<std::vector<std::string>> rows = {{"candidate", "GFLOP/s", "microseconds"}};
  for (const CandidateTrial& trial : tuned.trials)
    rows.push_back({trial.candidate, json_fixed(gflops(trial), 1), json_fixed(1e6 * trial.seconds, 1)});
  return str(tuned.key.text(), ": ", tuned.trials.front().candidate, "\n", table_text(rows));
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
      .add("choice", tuned.trials.front().candidate)
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
  for (const kernel::ChoiceKey& key : choices_of_phases(loaded)) {
    std::vector<CandidateTrial> trials = time_candidates(key, usable_candidates(key, tolerance), threads);
    std::stable_sort(trials.begin(), trials.end(),
                     [](const CandidateTrial& a, const CandidateTrial& b) { return a.seconds < b.seconds; });
    table.merge(tuning_of(key, trials));
    tuned.push_back({key, std::move(trials)});
    if (!arguments.json) print_text(str(tuned_text(tuned.back()), "\n"));
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
  print_text(str(count_text(static_cast<int64_t>(tuned.size()), "choice"), " for ", count_text(threads, "thread"),
                 tuned.empty() ? nothing : str(", remembered in ", cache_folder_text(), "\n")));
  return kDone;
}

}  // namespace thtrain
