#include "trainers/show/trained_model.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/variables.h"
#include "nn/model_pass.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/predict.h"
#include "trainers/show/filters.h"

namespace thtrain {

static bool are_probabilities(const Model& model, const TrainedOutput& output, const Dataset& data) {
  if (output.objective->gives_probabilities()) return true;
  Dims dims(model.input_shape().begin(), model.input_shape().end());
  if (data.is_sequence()) dims.insert(dims.begin(), "steps");
  dims.insert(dims.begin(), "n");
  ModelPass pass = model.pass({tensor("x", dims, model.dtype())}, Phase::kEvaluation);
  return pass.model_output(output.layer).link != ModelOutput::Link::kNone;
}

// What the model keeps of the data counts, and is taken out of `arrays`.
static Dataset as_trained(Dataset data, std::map<std::string, Tensor>& arrays, const std::string& weights) {
  const std::shared_ptr<const Standardization> kept = take_standardization(arrays, weights);
  check_standardization(kept ? *kept : Standardization(), data.train, weights);
  if (kept) data.set_standardization(kept);
  return data;
}

TrainedModel::TrainedModel(const Experiment& experiment, const Dataset& data, const std::string& weights)
    : TrainedModel(experiment, data, weights, read_weights(weights)) {}

TrainedModel::TrainedModel(const Experiment& experiment, const Dataset& data, const std::string& weights,
                           std::map<std::string, Tensor> arrays)
    : experiment_(checked_experiment(experiment)),
      floatx_(experiment.compiler.floatX),
      data_(as_trained(data, arrays, weights)),
      weights_(weights),
      input_(model_input(experiment, data_.train.step_shape(), data_.is_sequence())),
      model_(build_model(experiment, input_, data_.classes())),
      outputs_(outputs_of(experiment)) {
  model_.load(arrays, weights_, {}, &unused_arrays_);
  set_standards(outputs_, data_.standardization.get());
  set_step_targets(outputs_, data_.train);
  if (!data_.is_sequence() && !data_.train.is_sparse()) picture_ = picture_shape(data_.input_shape());
  for (const TrainedOutput& output : outputs_) gives_probabilities_.push_back(are_probabilities(model_, output, data_));
}

const Split& TrainedModel::split(Part part) const {
  return part == Part::kTrain ? data_.train : part == Part::kValid ? data_.valid : data_.test;
}

void TrainedModel::look_at(size_t output) {
  TH_CHECK(output < outputs_.size(), "output ", output, " of ", outputs_.size());
  looked_at_ = output;
}

int64_t TrainedModel::count(Part part) const {
  const int64_t size = split(part).size(), batch = experiment_.trainer.batch_size;
  return experiment_.trainer.full_batches_only ? size / batch * batch : size;
}

int64_t TrainedModel::classes() const {
  if (!output().takes_class_column()) return data_.classes();
  const auto& layers = model_.layers();
  const auto layer =
      std::find_if(layers.begin(), layers.end(), [&](const auto& one) { return one->name() == output().layer; });
  TH_CHECK(layer != layers.end(), "the model has no layer ", output().layer);
  return std::max<int64_t>(2, element_count((*layer)->output_shape()));
}

std::string TrainedModel::class_name(int64_t number) const {
  const auto at = static_cast<size_t>(number);
  const bool has_name = !output().takes_class_column() && at < data_.class_names.size();
  return has_name ? data_.class_names[at] : std::to_string(number);
}

std::vector<int64_t> TrainedModel::labels(Part part, int64_t first, int64_t count) const {
  const bool of_column = output().takes_class_column();
  TH_CHECK(of_column || data_.targets() == Targets::kClasses, "labels of ", name_of(data_.targets()));
  const Tensor targets = split(part).read_targets(first, count, DType::kFloat64);
  const int64_t width = targets.size() / count, column = of_column ? output().columns->first : 0;
  TH_CHECK(of_column || width == 1, "labels of ", targets.type_text());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::llround(targets.as_double(i * width + column)));
  return out;
}

Batch TrainedModel::read(Part part, int64_t first, int64_t count) const {
  return split(part).read(first, count, floatX());
}

Tensor TrainedModel::in_units(const Tensor& x) const {
  Tensor out = x.cast(DType::kFloat64).copy();
  if (data_.standardization) data_.standardization->inputs.undo(out);
  const std::vector<double> scales = data_.train.input_scales();
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] /= scales[static_cast<size_t>(i) % scales.size()];
  return out;
}

Tensor TrainedModel::from_units(const Tensor& x) const {
  Tensor out = x.cast(DType::kFloat64).copy();
  const std::vector<double> scales = data_.train.input_scales();
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] *= scales[static_cast<size_t>(i) % scales.size()];
  if (data_.standardization) data_.standardization->inputs.apply(out);
  return out.cast(experiment_.compiler.floatX);
}

Prediction TrainedModel::predict(const Batch& examples) const {
  return predict_outputs(experiment_, examples.x, weights_, {.raw = {}, .origin = "the examples", .where = {}},
                         examples.lengths)
      .at(looked_at_);
}

Prediction TrainedModel::predict(Part part, int64_t count) const {
  return predict_all(experiment_, split(part).part(0, count), weights_).outputs.at(looked_at_);
}

std::optional<Tensor> TrainedModel::features(const Split& examples, const std::string& layer) const {
  Tensor rows;
  if (layer == kExamples) {
    if (examples.is_sequence() || examples.is_sparse()) return {};
    rows = examples.read(0, examples.size(), DType::kFloat64).x;
  } else {
    const Prediction found = predict_all(experiment_, examples, weights_, {.layer = layer}).outputs.front();
    if (found.by_step) return {};
    rows = found.probabilities.cast(DType::kFloat64);
  }
  return rows.contiguous().reshape({rows.dim(0), rows.size() / rows.dim(0)});
}

Tensor TrainedModel::as_input(const Tensor& x) const {
  Shape shape = input_.shape;
  shape.insert(shape.begin(), x.dim(0));
  return x.cast(floatX()).contiguous().reshape(shape);
}

}  // namespace thtrain
