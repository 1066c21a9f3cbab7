// What a trained model gives for examples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/data_array.h"
#include "trainers/experiment.h"

namespace thtrain {

class Split;

struct Prediction {
  bool has_classes = true;  // does the model decide between classes, or give values?
  Tensor classes;           // int64 [n]: the most probable one; of values int64 [0]; by step of sequences [n, steps]
  Tensor probabilities;     // floatX [n, classes]; what the model gives, [n, ...], of values: in the units of the data;
                            // by step of sequences [n, steps, ...]
  std::string output = {};  // the layer that gives it
  bool by_step = false;
  /// Where the data has several labels: uint8 of the shape of `probabilities`, 1 for each label that is predicted.
  std::optional<Tensor> labels = {};
};

struct Predictions {
  std::vector<Prediction> outputs;         // in the order of loss.outputs; of a layer that was asked for, that alone
  std::vector<std::string> unused_arrays;  // of the weights: those that the model has no use for
};
struct PredictOptions {
  std::string layer = {};  // whose values are wanted instead of the outputs; "": the outputs
  std::string type = {};   // of the array of all examples, for messages; "": that of the split's
};
/// Of all `examples`, of which 1024 are read at a time. The number of classes comes from the weights, and so does the
/// standardization. Values that were standardized come back in the units of the data. Behind the end of a sequence the
/// class of a step is -1, and its probabilities, labels and values are 0. UserError as evaluate(), for examples of
/// another size than the weights take, weights that are not finite, the first example whose probabilities are not, and
/// where the model has no such layer.
Predictions predict_all(const Experiment& experiment, const Split& examples, const std::string& weights,
                        const PredictOptions& options = {});

/// The same of examples as the model takes them (scaled, standardized): `x` [n, ...] of any real dtype. `origin` says
/// where they come from, for messages. `lengths`: int64 [n], the steps of each sequence, from 1 to those of x, and
/// finite numbers are behind them; empty: each has all.
std::vector<Prediction> predict_outputs(const Experiment& experiment, const Tensor& x, const std::string& weights,
                                        const DataArray& origin = {.raw = {}, .origin = "the examples", .where = {}},
                                        const Tensor& lengths = {});
/// Of the first output.
Prediction predict(const Experiment& experiment, const Tensor& x, const std::string& weights,
                   const DataArray& origin = {.raw = {}, .origin = "the examples", .where = {}});

/// UserError "thtrain COMMAND: there is no layer NAME" with the names that there are, unless the model has it.
void require_layer(const Experiment& experiment, const std::string& name, const std::string& command);

}  // namespace thtrain
