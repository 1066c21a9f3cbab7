// What is told of a run folder besides its experiment: data that was moved, weights that nothing trained.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/load_experiment.h"
#include "datasets/dataset.h"

namespace thtrain {

/// load_data for a run. Where a data file is gone, the hint says how the run finds it at another path.
Dataset load_run_data(const LoadedExperiment& loaded, bool resumes);

/// The same where weights alone are of use: where a file is gone, none, and `missing` says which.
std::optional<Dataset> load_run_data_if_there(const LoadedExperiment& loaded, std::string& missing);

/// A line on standard error that names the arrays of `weights` which the model has no use for, where there are some.
void warn_of_unused_arrays(const std::string& weights, const std::vector<std::string>& names);

/// A warning on standard error where the run's weights are those of a checkpoint of step 0.
void warn_of_first_weights(const LoadedExperiment& loaded, const std::string& weights);

}  // namespace thtrain
