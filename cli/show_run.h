// Drawing what the run of a folder has learned: `thtrain show`, and the pictures of `thtrain report`.
#pragma once

#include <string>

#include "cli/load_experiment.h"
#include "trainers/show/show.h"

namespace thtrain {

struct ShownFolder {
  ShowReport report;
  std::string weights;  // that were drawn
};
/// show() into `folder`. `loaded` is a run's; `phase` and `weights` as take_phase() and weights_of(). Warns on standard
/// error where the weights are those that training began with. UserError as these.
ShownFolder show_run(LoadedExperiment loaded, const std::string& phase, const std::string& weights,
                     const ShowOptions& options, const std::string& folder);

}  // namespace thtrain
