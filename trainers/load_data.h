// From the [data] section to examples.
#pragma once

#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Finds, reads and checks what `experiment.data` names. Relative paths are looked for in `config_folder`, then in
/// $THTRAIN_DATA and the cache folder; those that were typed on the command line, in the working folder first.
/// UserError for any fault of the files, at its location in the configuration.
Dataset load_data(const Experiment& experiment, const std::string& config_folder);

/// Those of the data paths that are relative, made absolute as they were found: for the configuration in a run folder.
Experiment with_absolute_paths(const Experiment& experiment, const std::string& config_folder);

/// data.class_names, or what its file says. UserError as load_data.
std::vector<std::string> class_names_of(const Experiment& experiment, const std::string& config_folder);

/// Every file that the experiment names, for data and for weights, as it is there ("a.npz" of "a.npz[x]").
std::vector<std::string> named_files(const Experiment& experiment);

}  // namespace thtrain
