// A model with the weights of a run, and the examples as it takes them: what pictures of it are computed from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "nn/model.h"
#include "trainers/outputs.h"
#include "trainers/predict.h"
#include "trainers/program.h"
#include "trainers/trainer.h"

namespace thtrain {

class TrainedModel {
 public:
  /// `weights` as evaluate() takes them. UserError: the weights do not fit the model, or were learned of other
  /// examples. floatX() is the experiment's while this lives.
  TrainedModel(const Experiment& experiment, const Dataset& data, const std::string& weights);

  const Experiment& experiment() const { return experiment_; }
  /// Filled and standardized as the weights say.
  const Dataset& data() const { return data_; }
  const Model& model() const { return model_; }
  /// In the order of loss.outputs.
  const std::vector<TrainedOutput>& outputs() const { return outputs_; }
  bool has_several_outputs() const { return outputs_.size() > 1; }
  /// The one that is looked at: what predict() gives.
  const TrainedOutput& output() const { return outputs_[looked_at_]; }
  size_t output_number() const { return looked_at_; }
  /// Until another one is named; at first it is 0.
  void look_at(size_t output);
  const Split& split(Part part) const;
  /// As many examples as `thtrain eval` measures: those of full minibatches where the experiment says so.
  int64_t count(Part part) const;
  /// Those that output() decides between: the data's; of a column of class numbers as many as it gives scores.
  int64_t classes() const;
  /// The name of a class of output(), else its number.
  std::string class_name(int64_t number) const;
  /// The classes of the first `count` examples from `first` on, as the data has them for output(). InternalError unless
  /// it has one for each example.
  std::vector<int64_t> labels(Part part, int64_t first, int64_t count) const;
  /// What an example is as a picture; nothing of sequences.
  std::optional<ImageShape> picture() const { return picture_; }

  /// Examples as the model takes them, floatX [count, ...]; of sequences with their lengths. UserError where the data
  /// cannot be read.
  Batch read(Part part, int64_t first, int64_t count) const;
  /// The same in the units of the data before scaling and standardization: float64.
  Tensor in_units(const Tensor& x) const;
  /// The way there: floatX.
  Tensor from_units(const Tensor& x) const;
  /// What `thtrain predict` gives for these.
  Prediction predict(const Batch& examples) const;
  /// For the first `count` examples, read some at a time.
  Prediction predict(Part part, int64_t count) const;
  /// Of the weights: those that the model has no use for.
  const std::vector<std::string>& unused_arrays() const { return unused_arrays_; }
  /// Are the numbers of predict() probabilities?
  bool gives_probabilities() const { return gives_probabilities_[looked_at_]; }
  /// What a layer gives for these examples, or for kExamples they themselves, as rows: float64 [n, numbers]. Nothing
  /// where it gives something for each step of sequences.
  std::optional<Tensor> features(const Split& examples, const std::string& layer) const;
  static constexpr const char* kExamples = "x";  // what models call their input
  /// x [n, ...] in the shape that the model takes, floatX.
  Tensor as_input(const Tensor& x) const;
  FunctionOptions options(const std::string& name) const { return function_options(experiment_.compiler, name); }

 private:
  TrainedModel(const Experiment& experiment, const Dataset& data, const std::string& weights,
               std::map<std::string, Tensor> arrays);

  const Experiment experiment_;
  FloatXScope floatx_;
  const Dataset data_;
  std::string weights_;
  ModelInput input_;
  Model model_;
  std::vector<TrainedOutput> outputs_;
  std::optional<ImageShape> picture_;
  std::vector<std::string> unused_arrays_;
  std::vector<bool> gives_probabilities_;  // of each output
  size_t looked_at_ = 0;
};

}  // namespace thtrain
