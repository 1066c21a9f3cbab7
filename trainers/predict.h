// What a trained model gives for examples.
#pragma once

#include <string>
#include <vector>

#include "datasets/data_array.h"
#include "trainers/experiment.h"

namespace thtrain {

struct Prediction {
  bool has_classes = true;  // does the model decide between classes, or give values?
  Tensor classes;           // int64 [n]: the most probable one; of values int64 [0]; by step of sequences [n, steps]
  Tensor probabilities;     // floatX [n, classes]; what the model gives, [n, ...], of values: in the units of the data;
                            // by step of sequences [n, steps, ...]
  std::string output = {};  // the layer that gives it
};
/// Of each output, in the order of loss.outputs. `x` [n, ...] holds examples as the model takes them (scaled), of any
/// real dtype; the number of classes comes from the weights. `origin` says where they come from, for messages. Values
/// that were standardized come back in the units of the data. `lengths`: int64 [n], the steps of each sequence, from 1
/// to those of x, and finite numbers are behind them; empty: each has all. Behind the end of a sequence the class of
/// a step is -1, and its probabilities and values are 0. UserError as evaluate(), for examples of another size than the
/// weights take, weights that are not finite, and the first example whose probabilities are not.
std::vector<Prediction> predict_outputs(const Experiment& experiment, const Tensor& x, const std::string& weights,
                                        const DataArray& origin = {.raw = {}, .origin = "the examples", .where = {}},
                                        const Tensor& lengths = {});
/// Of the first output.
Prediction predict(const Experiment& experiment, const Tensor& x, const std::string& weights,
                   const DataArray& origin = {.raw = {}, .origin = "the examples", .where = {}});

}  // namespace thtrain
