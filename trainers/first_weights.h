// The weights that a training starts from, of a file that the experiment names.
#pragma once

#include <string>

#include "datasets/dataset.h"
#include "nn/model.h"
#include "trainers/experiment.h"

namespace thtrain {

/// Loads `experiment.model.weights`, if there are any, into the model of `data`; a relative path is looked for as data
/// files are. UserError where the file is not found or does not fit; also where it and the data are of tables, and an
/// input means something else in each: other columns (by the table.json that a run has next to its best.npz), other
/// categories, other columns with indicators of missing values, or the same classes in another order.
void load_first_weights(Model& model, const Experiment& experiment, const Dataset& data,
                        const std::string& config_folder);

}  // namespace thtrain
