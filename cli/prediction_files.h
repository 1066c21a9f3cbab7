// The files that `thtrain predict` writes: arrays, or a table with a line for each example.
#pragma once

#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "trainers/predict.h"

namespace thtrain {

enum class PredictionFormat { kNpy, kNpz, kCsv };
/// By the end of the name; UserError for another one.
PredictionFormat prediction_format(const std::string& path);

struct PredictionFile {
  const Split& examples;  // targets in the units of the data
  const std::vector<Prediction>& outputs;
  std::vector<std::vector<std::string>> names;  // of the classes or labels of each output
  std::vector<std::string> target_names = {};   // of the classes of the data's targets
  bool probabilities = false;                   // instead of labels; in a table, in addition to classes
  bool is_layer = false;                        // are these the numbers of a layer?
};

/// UserError where a table cannot hold it: several numbers in several axes.
void check_prediction_file(const PredictionFile& file, const std::string& path);

/// A .npy file holds one array of one output; a .npz file NAME or LAYER/NAME for NAME = classes, labels, probabilities,
/// values or features, and targets. A table has the columns id (the number of the example, or its file), step where an
/// output is of steps, target where there are some, and those of each output. UserError where it cannot be written.
void write_predictions(const PredictionFile& file, const std::string& path);

/// "classes and probabilities": what the file has of one output.
std::string what_is_written(const PredictionFile& file, const std::string& path);

}  // namespace thtrain
