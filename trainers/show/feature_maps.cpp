#include "trainers/show/feature_maps.h"

#include "compiler/ir/variables.h"
#include "nn/model_pass.h"

namespace thtrain {

std::vector<FeatureMaps> feature_maps(const TrainedModel& model, const Tensor& x) {
  std::vector<FeatureMaps> out;
  if (model.data().is_sequence()) return out;
  Dims dims = {1};
  dims.insert(dims.end(), model.model().input_shape().begin(), model.model().input_shape().end());
  const Expr input = tensor("x", dims, model.model().dtype());
  ModelPass pass = model.model().pass({input}, Phase::kEvaluation);
  std::vector<Out> values;
  for (const auto& layer : model.model().layers()) {
    if (layer->output_shape().size() != 3) continue;
    out.push_back({layer->name(), layer->type(), {}});
    values.emplace_back(pass.output(layer->name()));
  }
  if (out.empty()) return out;
  Function f = function({input}, values, {}, model.options("feature_maps"));
  const std::vector<Tensor> results = f({model.as_input(x)});
  for (size_t i = 0; i < out.size(); ++i) {
    const Shape& shape = results[i].shape();
    out[i].values = results[i].cast(DType::kFloat64).copy().reshape({shape.begin() + 1, shape.end()});
  }
  return out;
}

}  // namespace thtrain
