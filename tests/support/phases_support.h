// Experiments in phases for tests, from the text of a file.
#pragma once

#include "cli/overrides.h"
#include "cli/toml_config.h"
#include "tests/support/run_result.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"

namespace thtrain {

inline Experiment experiment_in(const std::string& toml, const std::vector<std::string>& overrides = {}) {
  Findings findings;
  ConfigNode root = parse_toml(toml, "e.toml", findings);
  apply_overrides(root, overrides, findings);
  Experiment out = read_experiment(root, findings);
  findings.raise();
  return out;
}

inline PhaseData data_of(const Experiment& experiment) {
  return PhaseData(experiment, [](const Experiment& phase) { return load_data(phase, ""); });
}

inline TrainSummary train_in(const std::string& path, const Experiment& experiment, const TrainHooks& hooks = {},
                             const TrainOptions& options = {}) {
  RunFolder folder = RunFolder::create(path, experiment);
  PhaseData data = data_of(experiment);
  return train_phases(data, folder, hooks, options);
}

inline TrainSummary resume_in(const std::string& path, const Experiment& experiment, const TrainHooks& hooks = {},
                              const TrainOptions& options = {}) {
  RunFolder folder = RunFolder::open(path);
  PhaseData data = data_of(experiment);
  return resume_phases(data, folder, hooks, options);
}

/// 200 digits, 784-8-10, minibatches of 20; threads, plots and checkpoints as tests want them.
inline const std::string kSmallTop =
    "seed = 7\n"
    "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 60\nn_test = 40\n"
    "[[model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 8\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.05\nmomentum = 0.9\nbatch_size = 20\nepochs = 3\ncheckpoint_seconds = 0\n"
    "[compiler]\nthreads = 1\n"
    "[output]\nplots = false\n";

}  // namespace thtrain
