// Running the shipped experiments in tests.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "cli/config_bases.h"
#include "cli/overrides.h"
#include "tests/support/training_support.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"

namespace thtrain {

inline Experiment lab(const std::string& file, const std::vector<std::string>& overrides) {
  Findings findings;
  ConfigNode root = read_config(file, findings);
  apply_overrides(root, overrides, findings);
  Experiment out = read_experiment(root, findings);
  findings.raise();
  return out;
}

struct LabResult {
  TrainSummary summary;
  std::vector<EpochReport> epochs;
};
/// Trains in `folder`, which does not exist yet; all phases, whose epochs follow one another.
inline LabResult run_lab(const Experiment& experiment, const std::string& folder) {
  LabResult out;
  PhaseData data(experiment, [](const Experiment& phase) { return load_data(phase, "configs/labs"); });
  RunFolder run = RunFolder::create(folder, experiment, {.config_folder = "configs/labs"});
  TrainHooks hooks{.on_epoch = [&](const EpochReport& report) { out.epochs.push_back(report); }};
  out.summary = train_phases(data, run, hooks);
  return out;
}

/// Is MNIST where THTRAIN_DATA says, or in the cache folder?
inline bool has_mnist() {
  try {
    load_data(lab("configs/labs/logistic_mnist.toml", {}), "configs/labs");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace thtrain
