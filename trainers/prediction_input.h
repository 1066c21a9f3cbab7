// The examples that a model is asked about: a file of any format that data comes in.
#pragma once

#include <string>

#include "datasets/data_array.h"
#include "trainers/experiment.h"
#include "trainers/table_facts.h"

namespace thtrain {

/// The rows of a .npy, IDX or CSV file, or of "file.npz[name]"; which it is, the file itself says. A table may have the
/// column of the labels, which is passed over; its other columns are those of `facts`. UserError for any fault of the
/// file, columns that are others, and data that does not fit in memory.
DataArray read_prediction_input(const std::string& path, const Experiment& experiment, const TableFacts& facts);

}  // namespace thtrain
