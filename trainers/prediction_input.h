// The examples that a model is asked about: a file of any format that data comes in.
#pragma once

#include <map>
#include <string>

#include "datasets/dataset.h"
#include "trainers/experiment.h"
#include "trainers/table_facts.h"

namespace thtrain {

struct PredictionInput {
  Split examples;               // scaled, not standardized; with targets where the file has them
  std::string type = {};        // of the array that the file holds, where it does: "float32[6, 12]"
  std::string no_targets = {};  // why a table's labels are not taken, where they are there
};

/// Which format a file has, it says itself: .npy (or "file.npz[name]"), IDX, a table, or what the experiment's source
/// reads (DataConfig::read_examples). A table may have the columns of the labels: where these are none of the known
/// classes, or no numbers, they are passed over; its other columns are those of `facts`. `lengths` names an array of
/// the steps of each sequence; "": each has all. `numbers`: those of an example in the weights; 0: not known. UserError
/// for any fault of the files, columns that are others, and arrays and tables that do not fit in memory.
PredictionInput read_prediction_input(const std::string& path, const std::string& lengths, const Experiment& experiment,
                                      const TableFacts& facts, int64_t numbers = 0);

/// How many numbers a row of the examples has by the weights: as many as the first layer's matrix has rows, of images
/// as many as data.image_shape says; 0 where neither tells.
int64_t numbers_of_example(const Experiment& experiment, const std::map<std::string, Tensor>& weights);

/// How many classes the matrix of the only output tells apart by its columns, of which one tells two; 0 where there is
/// no such matrix.
int64_t class_count_of(const Experiment& experiment, const std::map<std::string, Tensor>& weights);

}  // namespace thtrain
