// From a path on the command line to an experiment: its file, or the folder of a run that was made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "trainers/experiment.h"
#include "trainers/run_folder.h"

namespace thtrain {

struct LoadedExperiment {
  Experiment experiment;           // data paths and weights are absolute
  std::string config_file;         // as it was typed
  std::string config_folder;       // absolute: where data is looked for
  std::optional<RunFolder> run;    // where a run folder was named
  std::string earlier_phase = {};  // that `experiment` is, where it is not the last one
};

/// Makes `experiment` that of the phase of this name; "" leaves it as it is, that of the last phase. UserError where
/// there is no such phase.
void take_phase(LoadedExperiment& loaded, const std::string& name);

/// Reads the file at `config` and puts `overrides` over it. UserError with every mistake.
LoadedExperiment load_experiment(const std::string& config, const std::vector<std::string>& overrides);

/// The same for the configuration of a run folder. UserError where it is none.
LoadedExperiment load_run(const std::string& folder, const std::vector<std::string>& overrides);

/// The same for commands that use no more than its experiment and weights: where run.json is damaged, a warning on
/// standard error says what is not known.
LoadedExperiment load_run_to_use(const std::string& folder, const std::vector<std::string>& overrides);

/// load_run_to_use where `path` is a folder, else load_experiment.
LoadedExperiment load_experiment_or_run(const std::string& path, const std::vector<std::string>& overrides);

/// UserError where `named`, an experiment that is given with the folder of a run to resume, is not the one that the
/// folder holds; the message has each difference.
void require_same(const LoadedExperiment& named, const LoadedExperiment& run);

/// `weights`, or where it is empty those of the run folder. UserError where an experiment file stands alone.
std::string weights_of(const LoadedExperiment& loaded, const std::string& weights);

/// UserError where writing to `output`, which `option` names, would overwrite the experiment, a file that it names, or
/// a file of its run folder.
void refuse_to_overwrite(const std::string& option, const std::string& output, const LoadedExperiment& loaded);
/// The same for one file: "the output would overwrite the weights" by `what`.
void refuse_to_overwrite(const std::string& option, const std::string& output, const std::string& read,
                         const std::string& what);

/// Doubts about what can be learned from the data, and by this model, a line each on standard error.
void print_warnings(const Experiment& experiment, const Dataset& data);

}  // namespace thtrain
